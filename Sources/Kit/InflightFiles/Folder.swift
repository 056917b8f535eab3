internal import Glibc

/// Folders by their paths.
package enum Folder {
    /// Returns the names in a folder, without `.` and `..`, in no particular order.
    ///
    /// - Parameter parent: The descriptor of the folder that a relative path starts from.
    package static func names(in path: String, of parent: Int32 = AT_FDCWD) throws(SystemError) -> [String] {
        let folder = try FileDescriptor.open(path, in: parent, O_RDONLY | O_DIRECTORY)
        guard let stream = unsafe fdopendir(folder.number) else {
            let error = SystemError.last
            try? folder.close()
            throw error
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Creates a folder and its missing parents. An existing one is left as it is.
    ///
    /// - Parameters:
    ///   - permissions: Those of new folders.
    ///   - isExact: Whether new folders get these permissions whatever the umask.
    package static func make(_ path: String, permissions: UInt32, isExact: Bool = false) throws(SystemError) {
        if try makeOne(path, permissions, isExact) { return }
        let parent = path.dropLast(path.hasSuffix("/") ? 1 : 0).lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        if parent.isEmpty { throw .isMissing }
        try make(parent, permissions: permissions, isExact: isExact)
        if try !makeOne(path, permissions, isExact) { throw .isMissing }
    }

    /// Returns whether the folder exists now; if not, its parent is missing.
    private static func makeOne(_ path: String, _ permissions: UInt32, _ isExact: Bool) throws(SystemError) -> Bool {
        if unsafe mkdir(path, permissions) == 0 {
            guard unsafe !isExact || chmod(path, permissions) == 0 else { throw .last }
            return true
        }
        guard errno == EEXIST || errno == ENOENT else { throw .last }
        return errno == EEXIST
    }
}
