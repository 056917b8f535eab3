internal import Glibc
import InflightFiles
import InflightImages

/// A file of cookies in the format of Netscape's `cookies.txt`, as curl reads and writes it: a line for each cookie, of
/// seven fields that tabs separate. They are the domain, whether its hosts share the cookie, the path, whether the
/// cookie is `Secure`, the seconds from 1970 to its expiry, its name and its value.
package struct CookieFile: Sendable {
    /// The maximum size of a file: more than any that is written.
    private static let maximumBytes = 32 << 20
    private static let httpOnly = Array("#HttpOnly_".utf8)

    let path: String

    package init(path: String) {
        self.path = path
    }

    // MARK: Text

    /// Returns the text of a file. Cookies of a session are left out, and those with a tab, which would end a field.
    package static func text(_ cookies: [CookieJar.Cookie]) -> [UInt8] {
        var text = Array(
            "# Netscape HTTP Cookie File\n# Written by Inflight, for Inflight and curl. Keep it secret.\n\n".utf8)
        for cookie in cookies {
            guard let expiry = cookie.expiry, !(cookie.name + cookie.value + cookie.path).contains(.tab) else {
                continue
            }
            if cookie.isHTTPOnly { text += httpOnly }
            if !cookie.isHostOnly { text.append(UInt8(ascii: ".")) }
            let fields: [[UInt8]] = [
                cookie.domain, flag(!cookie.isHostOnly), cookie.path, flag(cookie.isSecure),
                Array("\(max(1, expiry.milliseconds / 1000))".utf8), cookie.name, cookie.value,
            ]
            text += fields.joined(separator: [.tab])
            text.append(.lineFeed)
        }
        return text
    }

    private static func flag(_ value: Bool) -> [UInt8] { Array((value ? "TRUE" : "FALSE").utf8) }

    /// A malformed line. It tells nothing of what the line contains.
    package struct Mistake: Error, Equatable {
        /// The number of the line, from 1.
        package var line: Int
        package var reason: String
    }

    /// Returns the cookies in the text of a file, in its order, expired ones included.
    package static func cookies(in text: [UInt8]) throws(Mistake) -> [CookieJar.Cookie] {
        var cookies: [CookieJar.Cookie] = []
        var number = 0
        for line in text.split(separator: .lineFeed, omittingEmptySubsequences: false) {
            number += 1
            do throws(Malformed) {
                if let cookie = try cookie(in: line) { cookies.append(cookie) }
            } catch {
                throw Mistake(line: number, reason: error.reason)
            }
        }
        return cookies
    }

    private struct Malformed: Error {
        var reason: String
    }

    /// Returns the cookie in a line; `nil` if the line is blank or a comment.
    private static func cookie(in line: ArraySlice<UInt8>) throws(Malformed) -> CookieJar.Cookie? {
        var line = line.last == .carriageReturn ? line.dropLast() : line
        let isHTTPOnly = line.starts(with: httpOnly)
        if isHTTPOnly { line = line.dropFirst(httpOnly.count) }
        guard isHTTPOnly || line.first != UInt8(ascii: "#"), !line.allSatisfy(\.isBlank) else { return nil }
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == .tab }) else {
            throw Malformed(reason: "has a control character")
        }
        let fields = line.split(separator: .tab, omittingEmptySubsequences: false)
        // curl accepts a line without its last tab, if the value is empty.
        guard fields.count == 7 || fields.count == 6 else {
            throw Malformed(reason: "has \(fields.count) fields instead of seven, separated by tabs")
        }
        let domain = fields[0].first == UInt8(ascii: ".") ? fields[0].dropFirst() : fields[0]
        guard let first = domain.first, first != UInt8(ascii: "."), !domain.contains(.slash), !domain.contains(0x20)
        else {
            throw Malformed(reason: "has no host or domain in its first field")
        }
        guard let isShared = flag(fields[1]), let isSecure = flag(fields[3]) else {
            throw Malformed(reason: "has another word than TRUE or FALSE in its second or fourth field")
        }
        guard fields[2].first == .slash else { throw Malformed(reason: "has a path that does not begin with a slash") }
        guard let seconds = FieldScanner.number(fields[4]) else {
            throw Malformed(reason: "has no number of seconds in its fifth field")
        }
        let value = fields.count == 7 ? fields[6] : []
        guard !fields[5].isEmpty, !(fields[5] + value).contains(UInt8(ascii: ";")) else {
            throw Malformed(reason: "has no name, or a semicolon in the name or the value")
        }
        guard fields[5].count + value.count <= CookieJar.maximumBytes else {
            throw Malformed(reason: "has a name and a value of more than \(CookieJar.maximumBytes) bytes")
        }
        var cookie = CookieJar.Cookie(
            name: Array(fields[5]), value: Array(value), domain: domain.map(\.asciiLowercased), path: Array(fields[2]))
        cookie.isHostOnly = !isShared
        cookie.isSecure = isSecure
        cookie.isHTTPOnly = isHTTPOnly
        if seconds > 0 { cookie.expiry = WallTime(milliseconds: min(seconds, .max / 1000) * 1000) }
        return cookie
    }

    private static func flag(_ text: ArraySlice<UInt8>) -> Bool? {
        switch String(decoding: text.map(\.asciiLowercased), as: UTF8.self) {
        case "true": true
        case "false": false
        default: nil
        }
    }

    // MARK: Files

    /// Returns the cookies in the file; `nil` if it does not exist.
    func read() throws(LoadError) -> [CookieJar.Cookie]? {
        let (status, text): (FileStatus, [UInt8])
        do throws(SystemError) {
            (status, text) = try contents()
        } catch {
            if error == .isMissing { return nil }
            throw unreadable("Cannot read the cookie file \(path): \(error.text). Correct that, or name another file.")
        }
        guard status.isFile else { throw unreadable("The cookie file \(path) is no regular file. Name another.") }
        guard status.isPrivate else {
            throw unreadable("Not only the owner may read or write the cookie file \(path). Use: chmod 600 '\(path)'")
        }
        guard text.count <= Self.maximumBytes else {
            throw unreadable("The cookie file \(path) has more than \(Self.maximumBytes >> 20) MiB. Remove it.")
        }
        do throws(Mistake) {
            return try Self.cookies(in: text)
        } catch {
            throw unreadable(
                "The cookie file \(path) is damaged: line \(error.line) \(error.reason). Correct or remove the line, or "
                    + "remove the file.")
        }
    }

    private func unreadable(_ message: String) -> LoadError { LoadError(.cannotRead, stage: .store, message: message) }

    /// Returns the text of a file that is private.
    private func contents() throws(SystemError) -> (FileStatus, [UInt8]) {
        // Opening a pipe would wait for its other end.
        let file = try FileDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        defer { try? file.close() }
        let status = try file.status()
        guard status.isFile, status.isPrivate else { return (status, []) }
        return (status, try file.read(at: 0, limit: Int(min(status.size, Int64(Self.maximumBytes)) + 1)))
    }

    /// Replaces the file, as a whole: its name is always that of a complete one.
    func replace(by text: [UInt8]) throws(LoadError) {
        do throws(SystemError) {
            let draft = "\(SpillFile.folder(of: path))/.inflight-\(UInt64.random(in: 0 ... .max)).cookies"
            do throws(SystemError) {
                try Self.create(draft, text)
                guard unsafe rename(draft, path) == 0 else { throw .last }
            } catch {
                unsafe unlink(draft)
                throw error
            }
            let folder = try FileDescriptor.open(SpillFile.folder(of: path), O_RDONLY | O_DIRECTORY)
            defer { try? folder.close() }
            try folder.synchronize()
        } catch {
            throw LoadError(
                .cannotWrite, stage: .store,
                message:
                    "Cannot write the cookie file \(path): \(error.systemText). Make its folder writable, or free space; "
                    + "then save again.")
        }
    }

    private static func create(_ path: String, _ text: [UInt8]) throws(SystemError) {
        let file = try FileDescriptor.open(
            path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600)
        do throws(SystemError) {
            try file.write(text)
            try file.synchronize()
        } catch {
            try? file.close()
            throw error
        }
        try file.close()
    }
}

extension UInt8 {
    fileprivate static let tab = UInt8(ascii: "\t")
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
}
