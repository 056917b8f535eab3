import Glibc
public import InflightConcurrency

/// A transport for `file:` URLs: regular files of this machine.
///
/// The response has status 200, no version, and `Content-Length`; there is no `Content-Type`. `GET` and `HEAD` are
/// supported. A directory, a pipe or a device fails with ``LoadError/Code/cannotRead``, as does a file that is missing
/// or not permitted. A file that shrinks while it is read fails with ``LoadError/Code/truncated``. Of the limits, those
/// on bytes and on the total time apply.
///
/// A small fixed number of the transport's own threads, which start when needed, read the files and call the receivers.
/// Symbolic links are followed.
public final class FileTransport: Transport {
    private let exchanges: LocalExchanges

    /// Creates a transport. Its threads start with the first exchange.
    ///
    /// - Parameters:
    ///   - threads: the maximum number of files read at once, at least 1.
    ///   - clock: the clock for the total time; that of the pipeline's configuration, if it has another one.
    public init(threads: Int = 2, clock: any EngineClock = SystemClock()) {
        exchanges = LocalExchanges(threads: threads, name: "inflight-files", clock: clock)
    }

    public var schemes: Set<String> { ["file"] }

    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        exchanges.start(request, receiver) { request throws(LoadError) in try FileReader(request) }
    }

    /// Ends exchanges in flight with ``LoadError/Code/shutDown``, and releases the threads.
    public func shutdown() async {
        await exchanges.shutdown()
    }
}

/// A reader of a regular file, from its beginning to the length that it had when it was opened.
final class FileReader: LocalReader {
    let head: ResponseHead
    let length: Int64?
    private let request: TransportRequest
    private let descriptor: Int32
    private var position: Int64 = 0

    /// Opens the file. Blocks for as long as the file system does.
    init(_ request: TransportRequest) throws(LoadError) {
        let path = PercentEncoding.decodedBytes(request.url.path)
        guard !path.contains(0) else {
            throw .local(.invalidURL, request, "The file path contains a zero byte. Remove %00 from the URL.")
        }
        // Non-blocking, so that a pipe without a writer does not block the thread.
        let opened = unsafe (path + [0]).withUnsafeBytes { bytes in
            unsafe open(
                bytes.assumingMemoryBound(to: CChar.self).baseAddress.unsafelyUnwrapped,
                O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        }
        guard opened >= 0 else { throw Self.unreadable(request, errno) }
        var status = stat()
        guard unsafe fstat(opened, &status) == 0 else {
            let error = errno
            close(opened)
            throw Self.unreadable(request, error)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            let what = status.st_mode & S_IFMT == S_IFDIR ? "This is a folder" : "This is not a regular file"
            throw .local(.cannotRead, request, "\(what). Specify a file.")
        }
        self.request = request
        descriptor = opened
        // Files in /proc and similar report 0, whatever they contain.
        length = status.st_size > 0 ? Int64(status.st_size) : nil
        var fields = HTTPFields()
        if let length { fields.append("Content-Length", String(length)) }
        head = ResponseHead(status: 200, version: .none, fields: fields)
    }

    deinit {
        close(descriptor)
    }

    func read(into room: UnsafeMutableRawBufferPointer) throws(LoadError) -> Int {
        let wanted = length.map { Int(min(Int64(room.count), $0 - position)) } ?? room.count
        if wanted == 0 { return 0 }
        while true {
            let count = unsafe pread(descriptor, room.baseAddress, wanted, off_t(position))
            if count > 0 {
                position += Int64(count)
                return count
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.unreadable(request, errno)
            }
            if length != nil {
                throw .local(.truncated, request, "The file was truncated while it was being read. Try again.")
            }
            return 0
        }
    }

    private static func unreadable(_ request: TransportRequest, _ error: Int32) -> LoadError {
        if DescriptorLimit.isReached(error) { return .tooManyOpenFiles(.fetch, url: request.url.string) }
        let reason = PosixError(code: error).text
        return .local(.cannotRead, request, "Cannot read the file: \(reason). Check its path and permissions.")
    }
}
