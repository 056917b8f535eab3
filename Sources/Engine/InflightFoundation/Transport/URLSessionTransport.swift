public import Foundation
public import InflightCore

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// HTTP and HTTPS by `URLSession`: for programs that must use it. Where nothing asks for it, the libcurl transport is
/// quicker, tells more, and stops sooner.
///
/// ```swift
/// var configuration = ImagePipeline.Configuration()
/// configuration.transports.append(.owned { _ in URLSessionTransport() })       // the last that serves a scheme is taken
/// ```
///
/// Redirects are not followed but handed on; no cache is asked, no cookie is sent or kept, and no credentials are sent
/// but those in the request's fields. A session of the transport's own is ephemeral and ends with it. A session that is
/// lent stays its owner's: it is never invalidated, and ``shutdown()`` ends the transport's exchanges alone.
///
/// - Thread: receivers are called on the session's delegate queue, one call at a time. They must not block.
/// - Cancellation: ``InflightCore/Transfer/cancel()`` returns at once. The exchange ends when the session has let go of
///   its work; see below for names that are being looked up.
/// - Errors: the codes are those of the libcurl transport; `URLSession`'s error is the underlying one.
///
/// What `URLSession` on Linux does otherwise than the protocol ``InflightCore/Transport`` wants it (Swift 6.3; measured,
/// and looked up in swift-corelibs-foundation), and what this transport makes of it:
///
/// - **Doubled fields** of an answer come as one, joined by commas, in no order. Fields are handed on sorted by name.
///   Doubled fields of a request are sent joined (RFC 9110 section 5.3), those of cookies by semicolons.
/// - **A pause** cannot hold bytes back on the wire: suspending a task starts its transfer again. Bytes that come in a
///   pause are kept here, up to the limit of the body.
/// - **Slow receivers**: bytes that wait for the delegate queue are in Foundation's memory, without a bound.
/// - **Trailers** end the program: Foundation takes them for the beginning of another head, and stops where none comes.
/// - **The head** cannot be refused before the body: bytes that have come by then are dropped here.
/// - **Redirects**: head and body of an answer with status 301 to 308 come together when it has ended; Foundation collects
///   that body without a bound. Without a usable `Location` there is no body at all.
/// - **A request that asks for authentication** (401) ends well here; Foundation calls that cancelled.
/// - **Limits**: one head's size is compared when it is there. A body's length on the wire, where it is coded, is what the
///   server announced or is not known; what it decodes to is limited as it comes.
/// - **Time**: whether a connection is there is not told. Connecting and the silence before the first sign of life together
///   may take the sum of both limits, and as long as it takes where one of them is not set.
/// - **Not told**: HTTP's version (it says 1.1), whether a connection was used again, bytes on the wire of coded bodies.
/// - **Codings**: Foundation undoes those that it knows, whatever was asked for. An `Accept-Encoding` of the request's is
///   replaced by theirs, unless it is `identity`; the head then has neither `Content-Encoding` nor `Content-Length`.
/// - **`GET` and `HEAD`** cannot have a body: `invalidRequest`.
/// - **Certificates** are compared with the system's, and with no other file.
/// - **Names**: cancelling a task whose name is being looked up blocks the whole session until the resolver gives up. So a
///   cancel before the first sign of life waits until a look-up of the transport's own, begun at the cancel, has ended,
///   and the exchange ends after that. Addresses and `localhost` need no look-up.
public final class URLSessionTransport: Transport {
    private let exchanges: SessionExchanges

    /// With a session of its own, which ends with ``shutdown()``, or when the transport is released and its last exchange
    /// has ended.
    ///
    /// - Parameter maximumConnectionsPerOrigin: at least 1.
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

    /// A delegate queue as a session should have: serial, on a thread of its own.
    ///
    /// On Linux the queue that a session makes itself waits for a thread of a pool that has as many as there are
    /// processors. Sessions that read from quick servers keep those for themselves, and what they have read piles up.
    public static func makeDelegateQueue() -> OperationQueue {
        DelegateQueue()
    }

    /// With a session that is lent to it, and that its owner may use for other work at the same time.
    ///
    /// ```swift
    /// let delegate = URLSessionTransport.SessionDelegate()
    /// let queue = URLSessionTransport.makeDelegateQueue()
    /// let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    /// let transport = try URLSessionTransport(lending: session)
    /// ```
    ///
    /// Caches, proxies and limits are those of the session's configuration. Its owner must not invalidate it, nor suspend
    /// its delegate queue or cancel what is in it, before ``shutdown()`` has returned.
    ///
    /// - Throws: ``InflightCore/LoadError/Code/invalidRequest`` for a session whose delegate is no ``SessionDelegate``
    ///   (on Linux a task's own delegate hears nothing of its bytes), or whose delegate queue is not serial.
    public init(lending session: URLSession) throws(LoadError) {
        guard let delegate = session.delegate as? SessionDelegate else {
            throw LoadError(
                .invalidRequest, stage: .request,
                message: "The session that is lent has another delegate. "
                    + "Make it with a URLSessionTransport.SessionDelegate.")
        }
        guard session.delegateQueue.maxConcurrentOperationCount == 1 else {
            throw LoadError(
                .invalidRequest, stage: .request,
                message: "The delegate queue of the session that is lent may run several operations at once. "
                    + "Set its maxConcurrentOperationCount to 1.")
        }
        exchanges = SessionExchanges(session: session, delegate: delegate, isOwn: false)
    }

    public var schemes: Set<String> { ["http", "https"] }

    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        exchanges.start(request, receiver)
    }

    /// Ends what is under way with ``InflightCore/LoadError/Code/shutDown``, and then its own session.
    public func shutdown() async {
        await exchanges.shutdown()
    }
}
