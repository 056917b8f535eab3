internal import Glibc

/// A file written in one go, such as a drawing or a report. It appears complete or not at all. The initializer checks
/// that it can be written, before there is anything to write.
package final class AtomicFile: Sendable {
    private let name: String
    private let parent: Int32
    private let folder: DraftFolder
    private let descriptor: Int32

    private static let draft = "draft"

    /// - Throws: The system's error for a file at that path; `ELOOP` if the path is a link of another user.
    package init(_ path: String) throws(SystemError) {
        let path = try Self.target(of: path)
        let parts = Self.split(path)
        name = parts.name
        var status = stat()
        if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw SystemError(code: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        parent = unsafe open(parts.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if parent < 0 { throw .last }
        do {
            folder = try DraftFolder(in: parent)
        } catch {
            close(parent)
            throw error
        }
        descriptor = unsafe openat(
            folder.descriptor, Self.draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        if descriptor < 0 {
            let error = SystemError.last
            folder.remove()
            close(parent)
            throw error
        }
    }

    deinit {
        close(descriptor)
        close(parent)
    }

    /// Follows links that belong to the user or to root, so that their targets are replaced. Refuses links of other
    /// users, because they could point anywhere.
    private static func target(of path: String) throws(SystemError) -> String {
        var (place, status) = (path, stat())
        for _ in 0..<40 {
            // A dangling link is replaced like a file.
            guard unsafe lstat(place, &status) == 0 else { return path }
            guard status.st_mode & S_IFMT == S_IFLNK else { return place }
            guard status.st_uid == geteuid() || status.st_uid == 0 else { throw SystemError(code: ELOOP) }
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
        var (own, others) = (stat(), stat())
        guard unsafe fstat(parent, &own) == 0, unsafe fstat(other.parent, &others) == 0 else { return false }
        return name == other.name && own.st_dev == others.st_dev && own.st_ino == others.st_ino
    }

    package func finish(_ bytes: [UInt8]) throws(SystemError) {
        try append(bytes)
        try finish()
    }

    /// Appends bytes. If that fails, the file is abandoned.
    package func append(_ bytes: [UInt8]) throws(SystemError) {
        do throws(StandardStream.WriteError) {
            try StandardStream(descriptor: descriptor).write(bytes)
        } catch {
            abandon()
            throw error.system
        }
    }

    package func finish() throws(SystemError) {
        guard unsafe renameat(folder.descriptor, Self.draft, parent, name) == 0 else {
            let error = SystemError.last
            abandon()
            throw error
        }
        folder.remove()
    }

    /// Discards the file, and leaves nothing behind.
    package func abandon() {
        _ = unsafe unlinkat(folder.descriptor, Self.draft, 0)
        folder.remove()
    }
}
