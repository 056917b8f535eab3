public import InflightConcurrency

/// A transport for `data:` URLs, which contain their bytes (RFC 2397).
///
/// The response has status 200, no version, `Content-Type` and `Content-Length`. Base64 may be percent-encoded, may
/// lack its padding, and may use the alphabet for URLs (RFC 4648 section 5). A URL without a comma, or with invalid
/// base64, fails with ``LoadError/Code/invalidURL``. The length is compared with the limit before decoding.
///
/// Receivers are called on a thread of the transport, which starts when it is needed.
public final class DataURLTransport: Transport {
    private let exchanges: LocalExchanges

    /// Creates a transport. Its thread starts with the first exchange.
    ///
    /// - Parameter clock: the clock for the total time; that of the pipeline's configuration, if it has another one.
    public init(clock: any EngineClock = SystemClock()) {
        exchanges = LocalExchanges(threads: 1, name: "inflight-data", clock: clock)
    }

    public var schemes: Set<String> { ["data"] }

    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        exchanges.start(request, receiver) { request throws(LoadError) in try DataURLReader(request) }
    }

    /// Ends exchanges in flight with ``LoadError/Code/shutDown``, and releases the thread.
    public func shutdown() async {
        await exchanges.shutdown()
    }
}
