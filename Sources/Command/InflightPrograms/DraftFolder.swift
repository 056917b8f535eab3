internal import Glibc
package import InflightFiles

/// A hidden folder beside the output files of a run, for files that are not complete yet. It is removed with the run. A
/// later run removes the folder that a killed run has left.
///
/// Each run holds a lock on a file in its folder (`flock`), which the kernel releases when the process ends. Unlike a
/// stored process ID, a lock is reliable across containers and after IDs are reused. On a file system without such
/// locks, nothing is removed.
///
/// May be used from any thread.
package final class DraftFolder: Sendable {
    /// The file descriptor of the folder.
    package let descriptor: Int32
    private let lock: Int32
    private let parent: Int32
    private let name: String

    private static let prefix = ".inflight-"
    private static let lockName = "lock"

    /// Creates a folder, and removes those that killed runs have left beside it.
    ///
    /// - Parameter parent: The directory to create it in. It must stay open for the lifetime of this object.
    package init(in parent: Int32) throws(SystemError) {
        let names = (try? Folder.names(in: ".", of: parent)) ?? []
        for name in names where name.hasPrefix(Self.prefix) { Self.removeAbandoned(name, in: parent) }
        self.parent = parent
        // Before the folder is locked, another run may remove it as abandoned. Then try again.
        for _ in 0..<16 {
            let name = Self.prefix + String(UInt64.random(in: 0 ... .max), radix: 36)
            guard unsafe mkdirat(parent, name, 0o700) == 0 else {
                if errno == EEXIST { continue }
                throw .last
            }
            let folder = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard folder >= 0 else {
                if errno == ENOENT { continue }
                throw .last
            }
            let lock = unsafe openat(
                folder, Self.lockName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if lock >= 0 {
                let isOthers = flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
                if !isOthers, let status = try? FileDescriptor(lock).status(), status.linkCount > 0 {
                    (descriptor, self.lock, self.name) = (folder, lock, name)
                    return
                }
                close(lock)
            }
            let error = SystemError.last
            close(folder)
            if lock < 0, error.code != ENOENT { throw error }
        }
        throw SystemError(code: EBUSY)
    }

    deinit {
        close(lock)
        close(descriptor)
    }

    /// Creates a draft, which the caller writes and closes.
    package func create(_ draft: String, permissions: UInt32) throws(SystemError) -> FileDescriptor {
        try FileDescriptor.open(
            draft, in: descriptor, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: permissions)
    }

    /// Gives a draft its final name in another folder, in place of a file of that name.
    package func publish(_ draft: String, as name: String, in folder: Int32) throws(SystemError) {
        guard unsafe renameat(descriptor, draft, folder, name) == 0 else { throw .last }
    }

    package func discard(_ draft: String) { _ = unsafe unlinkat(descriptor, draft, 0) }

    /// Removes the folder, which must not contain drafts any more.
    package func remove() {
        _ = unsafe unlinkat(descriptor, Self.lockName, 0)
        _ = unsafe unlinkat(parent, name, AT_REMOVEDIR)
    }

    private static func removeAbandoned(_ name: String, in parent: Int32) {
        let folder = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return }
        defer { close(folder) }
        guard let status = try? FileDescriptor(folder).status(), status.owner == geteuid() else { return }
        let lock = unsafe openat(folder, lockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        if lock >= 0 {
            defer { close(lock) }
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { return }
            let names = (try? Folder.names(in: ".", of: folder)) ?? []
            for file in names where file != lockName { _ = unsafe unlinkat(folder, file, 0) }
            _ = unsafe unlinkat(folder, lockName, 0)
        }
        // If the folder contains anything else, it stays.
        _ = unsafe unlinkat(parent, name, AT_REMOVEDIR)
    }
}
