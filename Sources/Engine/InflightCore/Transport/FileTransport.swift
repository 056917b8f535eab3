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
