import Dispatch
import Glibc

/// The lines of a list, read from a descriptor as they are asked for and no faster.
///
/// Confined to `queue`, and never blocks it: where nothing has come yet, `onReadable` is called on it once when
/// something has.
final class ListSource {
    static let longestLine = 256 * 1024
    private static let chunkSize = 64 * 1024

    private let descriptor: Int32
    private let queue: DispatchQueue
    private let onReadable: () -> Void
    private var splitter = LineSplitter(limit: longestLine)
    // One for the whole list: a second one on the same descriptor, made while the first is being cancelled, may never
    // fire.
    private var source: (any DispatchSourceRead)?
    private var isWaiting = false
    private var chunk = [UInt8](repeating: 0, count: chunkSize)
    private(set) var isAtEnd = false
    /// Why reading stopped before the end.
    private(set) var failure: SystemError?

    init(descriptor: Int32, queue: DispatchQueue, onReadable: @escaping () -> Void) {
        self.descriptor = descriptor
        self.queue = queue
        self.onReadable = onReadable
    }

    deinit {
        // A source that is suspended must not be released.
        if let source, !isWaiting { source.resume() }
        source?.cancel()
    }

    /// Opens a list, `-` being standard input, and makes sure that it can be read.
    static func open(_ path: String) throws(SystemError) -> Int32 {
        // A pipe with a name is opened at once, whether somebody writes to it yet or not.
        let descriptor = path == "-" ? 0 : unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .last }
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0 else { throw .last }
        if flags & O_ACCMODE == O_WRONLY { throw SystemError(code: EBADF) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .last }
        if status.st_mode & S_IFMT == S_IFDIR { throw SystemError(code: EISDIR) }
        return descriptor
    }

    /// The next line; `nil` where none is there yet, or none follows (``isAtEnd``).
    func next() -> LineSplitter.Line? {
        while true {
            if let line = splitter.next(isAtEnd: isAtEnd) { return line }
            guard !isAtEnd, !isWaiting else { return nil }
            guard isReadable else {
                wait()
                return nil
            }
            read()
        }
    }

    /// Reads no more.
    func stop() {
        isAtEnd = true
        if isWaiting { suspend() }
    }

    private var isReadable: Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, 0) != 0
    }

    private func read() {
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress!, $0.count) }
        if count > 0 {
            unsafe chunk.withUnsafeBytes { unsafe splitter.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        } else if count == 0 {
            isAtEnd = true
        } else if errno != EINTR && errno != EAGAIN {
            failure = .last
            isAtEnd = true
        }
    }

    private func wait() {
        isWaiting = true
        if let source { return source.resume() }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in
            guard let self, self.isWaiting else { return }
            self.suspend()
            self.onReadable()
        }
        self.source = source
        source.activate()
    }

    private func suspend() {
        isWaiting = false
        source?.suspend()
    }
}
