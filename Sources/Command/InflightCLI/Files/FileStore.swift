import Glibc
import Inflight
import InflightConcurrency

/// The directory where files go. A file in it appears whole or not at all: it is written in a hidden folder beside it, then
/// renamed.
///
/// May be used from any thread.
final class FileStore: Sendable {
    /// A file that is written and waits for its name. It has to be given to ``publish(_:as:)`` or ``discard(_:)``.
    struct Draft: Equatable, Sendable {
        fileprivate let folder: DraftFolder
        fileprivate let number: Int
        /// Its hidden name.
        fileprivate var name: String { String(number) }

        static func == (left: Draft, right: Draft) -> Bool {
            left.folder === right.folder && left.number == right.number
        }
    }

    private struct State {
        /// Made with the first draft.
        var folder: DraftFolder?
        var drafts: Set<Int> = []
        var counter = 0
        /// No more drafts: the program ends.
        var isClosed = false
    }

    /// The directory as it is told in reports.
    let shownPath: String
    private let descriptor: Int32
    private let state = Guarded(State())

    /// Opens the directory, which is made, with those above it, where it is not there.
    init(directory: String) throws(LoadError) {
        do throws(SystemError) {
            try Self.makeDirectories(directory)
            descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if descriptor < 0 { throw .last }
            if unsafe faccessat(descriptor, ".", W_OK | X_OK, 0) != 0 { throw .last }
        } catch {
            throw Self.cannotWrite("The directory \(directory) cannot be written: \(error.text).", error)
        }
        shownPath = Self.relative(directory)
    }

    deinit {
        close()
        Glibc.close(descriptor)
    }

    /// Writes `bytes` under a hidden name. Nothing is left of it when that fails.
    func draft(_ bytes: Bytes) throws(LoadError) -> Draft {
        do throws(SystemError) {
            let (draft, file) = try begin()
            do throws(SystemError) {
                let result = unsafe bytes.withUnsafeBytes { buffer in
                    Result { () throws(StandardStream.WriteError) in
                        try unsafe StandardStream(descriptor: file).write(buffer)
                    }.mapError(\.system)
                }
                // Some file systems find out here that there is no room.
                let closed = Glibc.close(file)
                try result.get()
                if closed != 0 && errno != EINTR { throw .last }
                return draft
            } catch {
                discard(draft)
                throw error
            }
        } catch {
            throw Self.cannotWrite("A file in \(shownPath) cannot be written: \(error.text).", error)
        }
    }

    /// Gives a draft its name. What had that name is replaced; a symbolic link is replaced too, not followed.
    func publish(_ draft: Draft, as name: String) throws(LoadError) {
        guard unsafe renameat(draft.folder.descriptor, draft.name, descriptor, name) == 0 else {
            let error = SystemError.last
            discard(draft)
            throw Self.cannotWrite("\(path(of: name)) cannot be written: \(error.text).", error)
        }
        state.withLock { _ = $0.drafts.remove(draft.number) }
    }

    func discard(_ draft: Draft) {
        _ = unsafe unlinkat(draft.folder.descriptor, draft.name, 0)
        state.withLock { _ = $0.drafts.remove(draft.number) }
    }

    /// Removes every draft, and refuses new ones: the last thing that happens before the program ends.
    func close() {
        state.withLock { state in
            state.isClosed = true
            guard let folder = state.folder else { return }
            for number in state.drafts { _ = unsafe unlinkat(folder.descriptor, String(number), 0) }
            (state.drafts, state.folder) = ([], nil)
            folder.remove()
        }
    }

    /// The bytes of a plain file with that name; `nil` where there is none, or only a link to one.
    ///
    /// - Parameter limit: a longer file is as good as none.
    func existing(_ name: String, limit: Int64) -> Bytes? {
        guard let file = try? LocalFile(name, in: descriptor, flags: O_NOFOLLOW), file.size <= limit else { return nil }
        return try? file.read(file.size)
    }

    /// Whether a plain file of that name is there.
    func exists(_ name: String) -> Bool {
        var status = stat()
        return unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT == S_IFREG
    }

    /// Where the file lies, from where the command runs.
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
            case ENOSPC, EDQUOT: " Make room, then ask again with --skip-existing."
            case EACCES, EPERM, EROFS: " Choose another directory with -o, or change who may write there."
            case ENOTDIR, EEXIST: " Part of that path is no directory; choose another with -o."
            default: ""
            }
        return LoadError(.cannotWrite, stage: .store, message: message + remedy, underlying: error)
    }

    /// Makes up a name, and registers it before its file is there: whoever closes the store finds both.
    private func begin() throws(SystemError) -> (Draft, Int32) {
        try state.withLock { (state) throws(SystemError) in
            if state.isClosed { throw SystemError(code: ECANCELED) }
            let folder = if let made = state.folder { made } else { try DraftFolder(in: descriptor) }
            state.folder = folder
            state.counter += 1
            let draft = Draft(folder: folder, number: state.counter)
            let file = unsafe openat(
                folder.descriptor, draft.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
            if file < 0 { throw .last }
            state.drafts.insert(draft.number)
            return (draft, file)
        }
    }

    private static func makeDirectories(_ path: String) throws(SystemError) {
        if unsafe mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.dropLast(path.hasSuffix("/") ? 1 : 0).lastIndex(of: "/"),
            slash != path.startIndex
        else { throw .last }
        try makeDirectories(String(path[..<slash]))
        guard unsafe mkdir(path, 0o777) == 0 || errno == EEXIST else { throw .last }
    }

    /// `directory` without needless parts; relative where it lies below the working directory.
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

    /// Without doubled slashes, `.` parts and a slash at the end. `..` stays: what is before it may be a link.
    private static func simplified(_ path: String) -> String {
        let parts = path.split(separator: "/").filter { $0 != "." }
        let joined = parts.joined(separator: "/")
        if path.hasPrefix("/") { return "/" + joined }
        return joined.isEmpty ? "." : joined
    }
}
