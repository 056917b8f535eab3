public import Foundation
public import InflightCore

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// A transport for HTTP and HTTPS by `URLSession`, for programs that must use it. Otherwise prefer the libcurl
/// transport, which is faster, reports more, and stops sooner.
///
/// ```swift
/// var configuration = ImagePipeline.Configuration()
/// configuration.transports.append(.owned { _ in URLSessionTransport() })  // the last that serves a scheme is used
/// ```
///
/// Redirects are returned, not followed. No cache is used, no cookie is sent or stored, and no credentials are sent
/// but those in the request's fields. The transport's own session is ephemeral and ends with it. A lent session belongs
/// to its owner: it is never invalidated, and ``shutdown()`` ends only the transport's exchanges.
///
/// - Thread: receivers are called on the session's delegate queue, one call at a time. They must not block.
/// - Cancellation: ``Transfer/cancel()`` returns at once. The exchange ends when the session has released
///   its work; see below for pending name lookups.
/// - Errors: the codes are those of the libcurl transport; `URLSession`'s error is the underlying one.
///
/// `URLSession` on Linux differs from the contract of ``Transport`` in these points (Swift 6.3; measured,
/// and checked in swift-corelibs-foundation). This transport handles them as follows:
///
/// - **Repeated fields** of a response are joined by commas, and the fields have no order. They are returned sorted by
///   name, the lines of `Set-Cookie` split again. Repeated fields of a request are sent joined (RFC 9110 section 5.3),
///   cookies by semicolons.
/// - **A pause** cannot stop bytes on the wire: suspending a task restarts its transfer. Bytes that arrive during a
///   pause are kept here, up to the limit of the body.
/// - **Slow receivers**: bytes queued for the delegate queue are in Foundation's memory, without a limit.
/// - **A cancel** of a task takes effect when the session's queue is free. While data arrives faster than the session
///   handles it, that can take seconds. Data received meanwhile is dropped here.
/// - **Trailers** crash the program: Foundation parses them as the start of another head, and traps if none follows.
/// - **The head** cannot be refused before the body: bytes received by then are dropped here.
/// - **Redirects**: head and body of a response with status 301 to 308 arrive together when it has ended; Foundation
///   buffers that body without a limit. Without a usable `Location` there is no body at all.
/// - **A request for authentication** (401) succeeds here; Foundation reports it as cancelled.
/// - **Limits**: the size of a head is checked when it is complete. The length of a coded body on the wire is the
///   server's announced length, or unknown; its decoded size is limited as it arrives.
/// - **Time**: Foundation does not report when a connection is open. Connecting and the silence before the first sign
///   of life together may take the sum of both limits, and have no limit if one of them is nil.
/// - **Not reported**: HTTP's version (it says 1.1), connection reuse, bytes on the wire of coded bodies.
/// - **Codings**: Foundation decodes those that it knows, whatever was requested. The request's `Accept-Encoding` is
///   replaced by theirs, unless it is `identity`; the head then has neither `Content-Encoding` nor `Content-Length`.
/// - **`GET` and `HEAD`** cannot have a body: `invalidRequest`.
/// - **Certificates** are checked against the system's, and no other file.
/// - **Names**: cancelling a task during its name lookup blocks the whole session until the resolver gives up. So a
///   cancel before the first sign of life waits for a lookup of the transport's own, begun at the cancel, and the
///   exchange ends after that. Addresses and `localhost` need no lookup.
public final class URLSessionTransport: Transport {
    private let exchanges: SessionExchanges

    /// Creates a transport with its own session, which ends with ``shutdown()``, or when the transport is released and
    /// its last exchange has ended.
    ///
    /// - Parameter maximumConnectionsPerOrigin: the maximum number of connections to one origin, at least 1.
    public init(maximumConnectionsPerOrigin: Int = 6) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = max(1, maximumConnectionsPerOrigin)
        let delegate = SessionDelegate()
        exchanges = SessionExchanges(
            session: URLSession(
                configuration: configuration, delegate: delegate, delegateQueue: Self.makeDelegateQueue()),
            delegate: delegate, isOwn: true)
    }

    /// Returns a suitable delegate queue for a session: serial, on its own thread.
    ///
    /// On Linux a session's default queue waits for a thread of a pool with one thread per processor. Sessions that
    /// read from fast servers occupy these threads, and unread data accumulates.
    public static func makeDelegateQueue() -> OperationQueue {
        DelegateQueue()
    }

    /// Creates a transport with a session that is lent to it. Its owner may use it for other tasks at the same time.
    ///
    /// ```swift
    /// let delegate = URLSessionTransport.SessionDelegate()
    /// let queue = URLSessionTransport.makeDelegateQueue()
    /// let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    /// let transport = try URLSessionTransport(lending: session)
    /// ```
    ///
    /// Caches, proxies and limits are those of the session's configuration. Before ``shutdown()`` has returned, its
    /// owner must not invalidate it, suspend its delegate queue, or cancel operations of that queue.
    ///
    /// - Throws: ``LoadError/Code/invalidRequest`` if the session's delegate is no ``SessionDelegate`` (on
    ///   Linux a task's own delegate does not receive its bytes), or if its delegate queue is not serial.
    public init(lending session: URLSession) throws(LoadError) {
        guard let delegate = session.delegate as? SessionDelegate else {
            throw LoadError(
                .invalidRequest, stage: .request,
                message: "The URLSession has a different delegate. "
                    + "Create it with a URLSessionTransport.SessionDelegate.")
        }
        guard session.delegateQueue.maxConcurrentOperationCount == 1 else {
            throw LoadError(
                .invalidRequest, stage: .request,
                message: "The URLSession's delegate queue may run several operations at once. "
                    + "Set its maxConcurrentOperationCount to 1.")
        }
        exchanges = SessionExchanges(session: session, delegate: delegate, isOwn: false)
    }

    /// The schemes `http` and `https`.
    public var schemes: Set<String> { ["http", "https"] }

    /// Starts an exchange as a data task of the session, and returns at once. After ``shutdown()`` it ends with
    /// ``LoadError/Code/shutDown``.
    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        exchanges.start(request, receiver)
    }

    /// Ends exchanges in flight with ``LoadError/Code/shutDown``, and then its own session. Returns when
    /// that is done. A lent session stays usable.
    public func shutdown() async {
        await exchanges.shutdown()
    }
}
