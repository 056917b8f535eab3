/// `file:` URLs: regular files of this machine.
///
/// The answer has status 200, no version, and `Content-Length`; there is no `Content-Type`. `GET` and `HEAD` are
/// served. A directory, a pipe or a device is ``LoadError/Code/cannotRead``, as is a file that is not there or not
/// permitted; a file that shrinks while it is read is ``LoadError/Code/truncated``. Of the limits, those on bytes and
/// on the whole time count.
///
/// Files are read by a fixed few threads of the transport's own, which start when they are needed and never are the
/// caller's. Receivers are called on them. Symbolic links are followed.
public final class FileTransport: Transport {
    private let exchanges: LocalExchanges

    /// - Parameter threads: how many files are read at once, at least 1.
    public init(threads: Int = 2) {
        exchanges = LocalExchanges(threads: threads, name: "inflight-files")
    }

    public var schemes: Set<String> { ["file"] }

    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        exchanges.start(request, receiver) { request throws(LoadError) in try FileReader(request) }
    }

    /// Ends what is under way with ``LoadError/Code/shutDown``, and lets go of the threads.
    public func shutdown() async {
        await exchanges.shutdown()
    }
}
