internal import Glibc
package import InflightFiles

/// A file written in one go, such as a drawing or a report. It appears complete or not at all. The initializer checks
/// that it can be written, before there is anything to write.
package final class AtomicFile: Sendable {
    private let name: String
    private let parent: FileDescriptor
    private let folder: DraftFolder
    private let file: FileDescriptor

    private static let draft = "draft"

    /// - Throws: The system's error for a file at that path; `ELOOP` if the path is a link of another user.
    package init(_ path: String) throws(SystemError) {
        let path = try Self.target(of: path)
        let parts = Self.split(path)
        name = parts.name
        if let status = try? FileStatus(of: path, followsLink: true), !status.isFile {
            throw SystemError(code: status.isFolder ? EISDIR : EINVAL)
        }
        parent = try FileDescriptor.open(parts.directory, O_RDONLY | O_DIRECTORY)
        do {
            folder = try DraftFolder(in: parent.number)
        } catch {
            try? parent.close()
            throw error
        }
        do {
            file = try folder.create(Self.draft, permissions: 0o644)
        } catch {
            folder.remove()
            try? parent.close()
            throw error
        }
    }

    deinit {
        try? file.close()
        try? parent.close()
    }

    /// Follows links that belong to the user or to root, so that their targets are replaced. Refuses links of other
    /// users, because they could point anywhere.
    private static func target(of path: String) throws(SystemError) -> String {
        var place = path
        for _ in 0..<40 {
            // A dangling link is replaced like a file.
            guard let status = try? FileStatus(of: place) else { return path }
            guard status.isLink else { return place }
            guard status.owner == geteuid() || status.owner == 0 else { throw SystemError(code: ELOOP) }
            var text = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = unsafe text.withUnsafeMutableBytes { unsafe readlink(place, $0.baseAddress!, $0.count) }
            guard count > 0 else { throw .last }
            let link = String(decoding: text[..<count], as: UTF8.self)
            place = link.hasPrefix("/") ? link : split(place).directory + "/" + link
        }
        throw SystemError(code: ELOOP)
    }

    /// Returns the folder of a path, and the name in it.
    package static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    /// Whether both files have the same name in the same folder.
    package func hasPlace(of other: AtomicFile) -> Bool {
        guard let own = try? parent.status(), let others = try? other.parent.status() else { return false }
        return name == other.name && own.identity == others.identity
    }

    package func finish(_ bytes: [UInt8]) throws(SystemError) {
        try append(bytes)
        try finish()
    }

    /// Appends bytes. If that fails, the file is abandoned.
    package func append(_ bytes: [UInt8]) throws(SystemError) {
        do {
            try file.write(bytes)
        } catch {
            abandon()
            throw error
        }
    }

    package func finish() throws(SystemError) {
        do {
            try folder.publish(Self.draft, as: name, in: parent.number)
        } catch {
            abandon()
            throw error
        }
        folder.remove()
    }

    /// Discards the file, and leaves nothing behind.
    package func abandon() {
        folder.discard(Self.draft)
        folder.remove()
    }
}
