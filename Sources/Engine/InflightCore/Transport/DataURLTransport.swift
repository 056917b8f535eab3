/// `data:` URLs, which hold their bytes themselves (RFC 2397).
///
/// The answer has status 200, no version, `Content-Type` and `Content-Length`. Base64 may be percent-encoded, may lack
/// its padding, and may use the alphabet for URLs (RFC 4648 section 5). A URL without a comma, or with base64 that is
/// none, is ``LoadError/Code/invalidURL``. The length is compared with the limit before anything is decoded.
///
/// Receivers are called on a thread of the transport's own, which starts when it is needed.
public final class DataURLTransport: Transport {
    private let exchanges: LocalExchanges

    public init() {
        exchanges = LocalExchanges(threads: 1, name: "inflight-data")
    }

    public var schemes: Set<String> { ["data"] }

    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        exchanges.start(request, receiver) { request throws(LoadError) in try DataURLReader(request) }
    }

    /// Ends what is under way with ``LoadError/Code/shutDown``, and lets go of the thread.
    public func shutdown() async {
        await exchanges.shutdown()
    }
}
