internal import CInflightCurl
public import InflightCore

/// A transport for HTTP and HTTPS by libcurl, with one event-loop thread for all exchanges.
///
/// HTTP/2 is negotiated by TLS (ALPN) and multiplexed. Connections are kept for later exchanges. Redirects are not
/// followed, cookies are not stored, and no credentials are sent except those in the request's header fields (and those
/// of a proxy from the environment). Certificates are always verified.
///
/// A request is sent with its own header fields. `User-Agent`, `Accept: */*` and `Accept-Encoding` (every coding that
/// libcurl decodes) are added if missing. If the request has its own `Accept-Encoding`, the body is delivered
/// undecoded. Over TLS, a request whose priority is not `.normal` gets a `Priority` field (RFC 9218) unless it has one;
/// the weight of its HTTP/2 stream (RFC 7540) follows the priority while it runs. Message framing fields
/// (`Content-Length`, `Transfer-Encoding`, `Connection`, …) are left out, since libcurl sets them.
///
/// Receivers are called on the event-loop thread and must not block. The thread starts with the first exchange. It ends
/// with ``shutdown()``, or when the transport is released and its last exchange has ended. Name resolution does not
/// block that thread, nor does each lookup take a thread.
///
/// libcurl is loaded on that thread by the first exchange of the process. If it is missing or older than 7.84,
/// exchanges fail with ``LoadError/Code/unsupportedScheme``.
///
/// The connect timeout begins when the exchange starts. It does not run while the exchange waits because its origin has
/// all its connections in use, or the process has no file descriptor for another: it uses at most three quarters of
/// those that are free when the thread starts.
public final class CurlTransport: Transport {
    private let mailbox: Mailbox

    /// Creates a transport. Reads the environment and the files of certificates as configured, and opens no connection.
    ///
    /// - Throws: ``LoadError/Code/cannotRead`` if a file cannot be read or holds no certificate or key,
    ///   ``LoadError/Code/invalidRequest`` for limits outside 1 to 1,000,000, an invalid `userAgent`, and a host or a
    ///   pinned key that is none,
    ///   ``LoadError/Code/tooManyOpenFiles`` if no file descriptor is left.
    public init(configuration: Configuration = Configuration()) throws(LoadError) {
        mailbox = try Mailbox(settings: try Settings(configuration))
    }

    /// Creates a transport with settings that no configuration provides.
    init(settings: Settings) throws(LoadError) {
        mailbox = try Mailbox(settings: settings)
    }

    deinit {
        mailbox.endWhenIdle()
    }

    /// The schemes `http` and `https`.
    public var schemes: Set<String> { ["http", "https"] }

    /// Passes an exchange to the event loop, and returns at once. The first one starts the event loop's thread.
    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        let exchange = Exchange(request: request, receiver: receiver, mailbox: mailbox)
        mailbox.post(.start(exchange))
        return exchange
    }

    /// Returns whether a domain is a public suffix, by libpsl's list, or nil if libpsl is not installed. The first call
    /// of the process loads the library and reads the list, about 50 KB.
    public func isPublicSuffix(_ domain: String) -> Bool? {
        switch unsafe inflight_is_public_suffix(domain) {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// Fails all active exchanges with ``LoadError/Code/shutDown``, closes all connections, and ends the thread.
    ///
    /// A lookup in the system's own resolver is left to its thread, which ends once that lookup returns.
    public func shutdown() async {
        await mailbox.shutDown()
    }
}
