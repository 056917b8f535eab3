public import InflightCore

/// HTTP and HTTPS by libcurl: one event-loop thread carries every exchange.
///
/// HTTP/2 is agreed on by TLS (ALPN) and multiplexed; connections are kept for the next exchange. Redirects are not
/// followed, cookies are not kept, and no credentials are sent but those in the request's fields (and those of a proxy
/// that the environment names). Certificates are always verified.
///
/// What is sent is what the request's fields say, with `User-Agent`, `Accept: */*` and `Accept-Encoding` (every
/// coding that libcurl undoes) added where the request does not have them. A request with an `Accept-Encoding` of its
/// own gets the body as it came. Over TLS, a request whose priority is not `.normal` has a `Priority` (RFC 9218), unless
/// it has one of its own; the weight of an HTTP/2 stream (RFC 7540) follows the priority while it runs. Fields that frame
/// a message (`Content-Length`, `Transfer-Encoding`, `Connection`, …) are libcurl's and are left out.
///
/// Receivers are called on the event-loop thread: they must not block. The thread starts with the first exchange and
/// ends with ``shutdown()``, or when the transport is released and its last exchange has ended. Names are resolved
/// without blocking that thread, and without a thread for each.
///
/// The connect timeout begins when the exchange is started. It does not run while the exchange waits for a connection
/// because all that its origin may have are at work, or all for which the process has file descriptors: three quarters of
/// those that are free when the thread starts.
public final class CurlTransport: Transport {
    private let mailbox: Mailbox

    /// Reads what it needs of the environment and of the CA file, and opens no connection.
    ///
    /// - Throws: ``LoadError/Code/cannotRead`` for a CA file that cannot be read or holds no certificate,
    ///   ``LoadError/Code/invalidRequest`` for limits below 1, ``LoadError/Code/tooManyOpenFiles`` where no file
    ///   descriptor is left.
    public init(configuration: Configuration = Configuration()) throws(LoadError) {
        mailbox = try Mailbox(settings: try Settings(configuration))
    }

    /// With settings that no configuration gives.
    init(settings: Settings) throws(LoadError) {
        mailbox = try Mailbox(settings: settings)
    }

    deinit {
        mailbox.endWhenIdle()
    }

    public var schemes: Set<String> { ["http", "https"] }

    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        let exchange = Exchange(request: request, receiver: receiver, mailbox: mailbox)
        mailbox.post(.start(exchange))
        return exchange
    }

    /// Ends what is under way with ``LoadError/Code/shutDown``, closes all connections, and ends the thread.
    ///
    /// A look-up that the system's own resolver is busy with is left to its thread, which ends when that gives up.
    public func shutdown() async {
        await mailbox.shutDown()
    }
}
