import Glibc
import Inflight
import InflightConcurrency

/// The output directory. A file appears in it complete or not at all: it is written in a hidden folder beside it and
/// then renamed.
///
/// May be used from any thread.
final class FileStore: Sendable {
    /// A written file without its final name. It must be passed to ``publish(_:as:)``, ``publishNew(_:as:)`` or
    /// ``discard(_:)``.
    struct Draft: Equatable, Sendable {
        fileprivate let folder: DraftFolder
        fileprivate let number: Int
        /// The hidden name.
        fileprivate let name: String
        /// The file as it was written.
        fileprivate(set) var identity = FileIdentity(size: 0, modified: 0, checksum: 0)

        fileprivate init(folder: DraftFolder, number: Int) {
            self.folder = folder
            self.number = number
            name = String(number)
        }

        static func == (left: Draft, right: Draft) -> Bool {
            left.folder === right.folder && left.number == right.number
        }
    }

    private struct State {
        /// The folder for drafts, created with the first one.
        var folder: DraftFolder?
        var drafts: Set<Int> = []
        var counter = 0
        /// Whether new drafts are refused, because the program is about to exit.
        var isClosed = false
    }

    /// The path of the directory as shown in reports.
    let shownPath: String
    /// The descriptor of the directory.
    let descriptor: Int32
    private let state = Guarded(State())

    /// Opens the directory, and creates it and its ancestors if they do not exist.
    init(directory: String) throws(LoadError) {
        do throws(SystemError) {
            try Folder.make(directory, permissions: 0o777)
            descriptor = try FileDescriptor.open(directory, O_RDONLY | O_DIRECTORY).number
            if unsafe faccessat(descriptor, ".", W_OK | X_OK, 0) != 0 { throw .last }
        } catch {
            throw Self.cannotWrite("Cannot write to the folder \(directory): \(error.text).", error)
        }
        shownPath = Self.relative(directory)
    }

    deinit {
        close()
        Glibc.close(descriptor)
    }

    /// Writes `bytes` under a hidden name. If that fails, nothing is left behind.
    func draft(_ bytes: Bytes) throws(LoadError) -> Draft {
        do throws(SystemError) {
            var (draft, file) = try begin()
            do {
                draft.identity = try Self.write(bytes, file)
                return draft
            } catch {
                discard(draft)
                throw error
            }
        } catch {
            throw Self.cannotWrite("Cannot write a file in \(shownPath): \(error.text).", error)
        }
    }

    private static func write(_ bytes: Bytes, _ file: FileDescriptor) throws(SystemError) -> FileIdentity {
        let modified: Int64
        do {
            try unsafe bytes.withUnsafeBytes { (bytes) throws(SystemError) in try unsafe file.write(bytes) }
            modified = (try? file.status().modified) ?? 0
        } catch {
            try? file.close()
            throw error
        }
        try file.close()
        return FileIdentity(
            size: Int64(bytes.count), modified: modified, checksum: FileIdentity.checksum(of: bytes))
    }

    /// Renames a draft to its final name. An existing file of that name is replaced. A symbolic link is replaced, too,
    /// not followed.
    func publish(_ draft: Draft, as name: String) throws(LoadError) {
        // An implicit conversion would allocate memory for each name.
        let status = unsafe draft.name.withCString { hidden in
            unsafe name.withCString { unsafe renameat(draft.folder.descriptor, hidden, descriptor, $0) }
        }
        guard status == 0 else { throw refuse(draft, name, .last) }
        state.withLock { _ = $0.drafts.remove(draft.number) }
    }

    /// Gives a draft its final name, if nothing has that name.
    ///
    /// - Returns: Whether it got the name. Otherwise the draft is unchanged.
    func publishNew(_ draft: Draft, as name: String) throws(LoadError) -> Bool {
        let status = unsafe draft.name.withCString { hidden in
            unsafe name.withCString { unsafe linkat(draft.folder.descriptor, hidden, descriptor, $0, 0) }
        }
        guard status != 0 else {
            discard(draft)
            return true
        }
        let error = SystemError.last
        switch error.code {
        case EEXIST: return false
        case EPERM, EOPNOTSUPP, ENOSYS, EMLINK:
            // A file system without hard links. Other runs are kept out by the lock of the index.
            if self.status(of: name) != nil { return false }
            try publish(draft, as: name)
            return true
        default: throw refuse(draft, name, error)
        }
    }

    private func refuse(_ draft: Draft, _ name: String, _ error: SystemError) -> LoadError {
        discard(draft)
        return Self.cannotWrite("Cannot write \(path(of: name)): \(error.text).", error)
    }

    func discard(_ draft: Draft) {
        draft.folder.discard(draft.name)
        state.withLock { _ = $0.drafts.remove(draft.number) }
    }

    /// Removes every draft and refuses new ones, as the last step before the program exits.
    func close() {
        state.withLock { state in
            state.isClosed = true
            guard let folder = state.folder else { return }
            for number in state.drafts { folder.discard(String(number)) }
            (state.drafts, state.folder) = ([], nil)
            folder.remove()
        }
    }

    /// Returns the bytes of a regular file with that name, or `nil` if there is none, or only a link to one.
    ///
    /// - Parameter limit: The maximum size in bytes; a longer file counts as missing.
    func existing(_ name: String, limit: Int64) -> Bytes? {
        guard let file = try? LocalFile(name, in: descriptor, flags: O_NOFOLLOW), file.size <= limit else { return nil }
        return try? file.read(file.size)
    }

    /// Returns whether a regular file of that name exists.
    func exists(_ name: String) -> Bool { status(of: name)?.isFile ?? false }

    /// Returns the status of whatever has that name, without following a link; `nil` if nothing has it.
    func status(of name: String) -> FileStatus? { try? FileStatus(of: name, in: descriptor) }

    /// Returns the path of the file, as seen from the working directory.
    func path(of name: String) -> String {
        switch shownPath {
        case ".": name
        case "/": "/" + name
        default: shownPath + "/" + name
        }
    }

    static func cannotWrite(_ message: String, _ error: SystemError) -> LoadError {
        let remedy =
            switch error.code {
            case ENOSPC, EDQUOT: " Free disk space, then run again with --skip-existing."
            case EACCES, EPERM, EROFS: " Choose another folder with -o, or change its permissions."
            case ENOTDIR, EEXIST: " Part of the path is not a folder. Choose another with -o."
            default: ""
            }
        return LoadError(.cannotWrite, stage: .store, message: message + remedy, underlying: error)
    }

    /// Chooses a name, and creates and registers its file under the lock, so that ``close()`` finds both.
    private func begin() throws(SystemError) -> (Draft, FileDescriptor) {
        try state.withLock { (state) throws(SystemError) in
            if state.isClosed { throw SystemError(code: ECANCELED) }
            let folder = if let made = state.folder { made } else { try DraftFolder(in: descriptor) }
            state.folder = folder
            state.counter += 1
            let draft = Draft(folder: folder, number: state.counter)
            let file = try folder.create(draft.name, permissions: 0o666)
            state.drafts.insert(draft.number)
            return (draft, file)
        }
    }

    /// Returns `directory` without redundant components, and relative if it is below the working directory.
    static func relative(_ directory: String) -> String {
        var path = simplified(directory)
        if path.hasPrefix("/"), let working = unsafe getcwd(nil, 0) {
            defer { unsafe free(working) }
            let base = unsafe String(cString: working)
            if path == base { return "." }
            let prefix = base == "/" ? "/" : base + "/"
            if path.hasPrefix(prefix) { path.removeFirst(prefix.count) }
        }
        return path
    }

    /// Removes doubled slashes, `.` components and a trailing slash. `..` stays: the part before it may be a link.
    private static func simplified(_ path: String) -> String {
        let parts = path.split(separator: "/").filter { $0 != "." }
        let joined = parts.joined(separator: "/")
        if path.hasPrefix("/") { return "/" + joined }
        return joined.isEmpty ? "." : joined
    }
}
