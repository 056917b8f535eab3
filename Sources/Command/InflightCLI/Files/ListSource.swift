import Dispatch
import Glibc
import InflightConcurrency

/// The lines of a list, read from a descriptor only on demand.
///
/// Confined to `queue`, which it never blocks. If no bytes are available, it calls ``onReadable`` once on the queue
/// when some arrive.
final class ListSource {
    static let longestLine = 256 * 1024
    /// The length in bytes beyond which a line counts as endless, as that of `/dev/zero` does.
    static let endlessLine = 16 << 20
    private static let chunkSize = 64 * 1024

    private let descriptor: Int32
    private let queue: DispatchQueue
    /// Called on the queue when bytes are available again.
    var onReadable: () -> Void = {}
    private var splitter = LineSplitter(limit: longestLine, longest: endlessLine)
    /// Created the first time that reading has to wait.
    private var waiter: Waiter?
    private var isWaiting = false
    private var chunk = [UInt8](repeating: 0, count: chunkSize)
    private(set) var isAtEnd = false
    /// The reason why reading stopped before the end.
    private(set) var failure: String?

    init(descriptor: Int32, queue: DispatchQueue) {
        self.descriptor = descriptor
        self.queue = queue
    }

    deinit {
        waiter?.stop()
    }

    /// Opens a list and checks that it can be read. `-` is standard input.
    static func open(_ path: String) throws(SystemError) -> Int32 {
        // A named pipe is opened at once, whether or not it has a writer yet.
        let descriptor = path == "-" ? 0 : try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY).number
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0 else { throw .last }
        if flags & O_ACCMODE == O_WRONLY { throw SystemError(code: EBADF) }
        if try FileDescriptor(descriptor).status().isFolder { throw SystemError(code: EISDIR) }
        return descriptor
    }

    /// Returns the next line, or `nil` if none is available yet or none follows (``isAtEnd``).
    func next() -> LineSplitter.Line? {
        while true {
            switch splitter.next(isAtEnd: isAtEnd) {
            case .endless(let number)?:
                failure = "line \(number) is longer than \(Quantity.grouped(Self.endlessLine)) bytes"
                stop()
                return nil
            case let line?: return line
            case nil: break
            }
            guard !isAtEnd, !isWaiting else { return nil }
            guard isReadable else {
                wait()
                return nil
            }
            read()
        }
    }

    /// Stops reading.
    func stop() {
        isAtEnd = true
        isWaiting = false
        waiter?.stop()
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
            failure = SystemError.last.text
            isAtEnd = true
        }
        // Releasing the waiter ends its thread.
        if isAtEnd { waiter = nil }
    }

    private func wait() {
        isWaiting = true
        let waiter = waiter ?? Waiter(descriptor: descriptor, queue: queue, source: self)
        self.waiter = waiter
        waiter.wait()
    }

    fileprivate func isReady() {
        guard isWaiting else { return }
        isWaiting = false
        onReadable()
    }
}

/// A thread that waits for a descriptor. A read source of Dispatch may crash its manager on Linux if it is released
/// while the other end hangs up (swift-corelibs-libdispatch issue 949).
// Unchecked: `source` and `isStopped` are accessed only on the queue; everything else is immutable.
private final class Waiter: @unchecked Sendable {
    private let descriptor: Int32
    private let queue: DispatchQueue
    private weak var source: ListSource?
    private let thread = WorkerThreads(count: 1, name: "inflight-list")
    /// The reading end of a pipe. Closing its other end ends the wait. If -1, there is no pipe, and the thread waits
    /// for the list alone.
    private let stopping: Int32
    private let end: Int32
    private var isStopped = false

    init(descriptor: Int32, queue: DispatchQueue, source: ListSource) {
        self.descriptor = descriptor
        self.queue = queue
        self.source = source
        var ends: [Int32] = [-1, -1]
        if unsafe pipe(&ends) == 0 {
            for each in ends { _ = fcntl(each, F_SETFD, FD_CLOEXEC) }
        }
        (stopping, end) = (ends[0], ends[1])
    }

    deinit {
        // No wait is pending, because each one retains this object.
        stop()
        if stopping >= 0 { close(stopping) }
    }

    /// Ends the wait. Called on the queue. The source ignores the report of a wait that is still pending.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        if end >= 0 { close(end) }
    }

    func wait() {
        thread.run { [self] in
            var watched = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stopping, events: Int16(POLLIN), revents: 0),
            ]
            while unsafe poll(&watched, 2, -1) < 0, errno == EINTR {}
            queue.async { [self] in source?.isReady() }
        }
    }
}
