/// A transport of requests and responses for some URL schemes. It performs one exchange for each call, without
/// redirects, caching or retries, which are the engine's.
///
/// Conformers serve HTTP by libcurl, files, `data:` URLs, or a test's script. Every method may be called from any
/// thread.
public protocol Transport: Sendable {
    /// The URL schemes that this transport serves, in lower case.
    var schemes: Set<String> { get }

    /// Starts an exchange and returns at once, without blocking and without calling `receiver`.
    ///
    /// The receiver is retained until its end has been delivered. Every exchange, cancelled or not, ends with exactly
    /// one ``TransportReceiver/didEnd(_:)-method``, when its work has in fact stopped.
    ///
    /// - Parameters:
    ///   - request: the request to send. Its URL has one of the ``schemes``.
    ///   - receiver: the receiver of the exchange's events.
    /// - Returns: the exchange in flight, for cancelling and resuming it.
    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer

    /// Returns whether a domain is a public suffix, such as `com` or `co.uk`: hosts below it belong to different owners
    /// (publicsuffix.org). A redirect may set a cookie for all hosts of a domain only if it is none.
    ///
    /// Called while the receiver is called, so it must not block. The default implementation returns nil.
    ///
    /// - Parameter domain: a name in lower case, without a dot at its ends.
    /// - Returns: nil if that is unknown. A cookie is then sent only to the host that set it.
    func isPublicSuffix(_ domain: String) -> Bool?

    /// Ends exchanges in flight, each with an error, and releases threads and connections. Returns when that is done.
    /// Later starts fail with ``LoadError/Code/shutDown``.
    func shutdown() async
}

extension Transport {
    public func isPublicSuffix(_ domain: String) -> Bool? { nil }
}

/// An exchange in flight.
public protocol Transfer: AnyObject, Sendable {
    /// Stops the exchange. Its connection is closed, or left clean for reuse. Idempotent, callable from any thread,
    /// does not block. The receiver's end follows soon.
    func cancel()

    /// Continues the exchange after ``TransportReceiver/didReceive(_:at:)`` returned ``TransportDisposition/pause``.
    func resume()

    /// Changes the priority of the exchange, which is at first ``TransportRequest/priority``.
    ///
    /// A hint: a transport that cannot act on it ignores it, as the default implementation does. May be called from any
    /// thread, at any time until the transfer is released, its end included. Does not block, and does not call the
    /// receiver. If two calls overlap, either may take effect; the engine makes the right one last.
    func setPriority(_ priority: ImageRequest.Priority)

    /// Changes the limits of the exchange, which are at first ``TransportRequest/limits``: several loads share it, and
    /// one of them has joined or left.
    ///
    /// Timeouts count from where they counted before. A transport that cannot change them keeps the old ones, as the
    /// default implementation does: a load that allows more may then fail at the limit of another. May be called like
    /// ``setPriority(_:)``.
    func setLimits(_ limits: TransportRequest.Limits)
}

extension Transfer {
    public func setPriority(_ priority: ImageRequest.Priority) {}
    public func setLimits(_ limits: TransportRequest.Limits) {}
}

/// A receiver's decision on how the exchange continues.
public enum TransportDisposition: Sendable {
    /// Continue the exchange.
    case proceed
    /// Cancel the exchange, as ``Transfer/cancel()`` does.
    case cancel
    /// Read no more bytes from the wire until ``Transfer/resume()``.
    case pause
}

/// A receiver of the events of one exchange. Calls come one at a time, in the order of the wire, and never from inside
/// ``Transport/start(_:receiver:)`` or ``Transfer/cancel()``. They must not block.
public protocol TransportReceiver: AnyObject, Sendable {
    /// The timings of the exchange so far are known: called at most once, before the final head, or before an end
    /// without one. Only called if ``TransportRequest/wantsTimings`` is set and the transport knows them.
    func didReceive(_ timings: TransportTimings)
    /// An interim response (1xx) was received. May be called several times, before the final head.
    func didReceive(interim head: ResponseHead)
    /// The response's head was received. Called once, before any byte of the body, so that a body can be refused
    /// unread.
    ///
    /// - Parameters:
    ///   - head: the status and the header fields.
    ///   - expectedBytes: the length of the body on the wire, before content coding is decoded, if the server announced
    ///     it.
    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition
    /// Bytes of the body were received. They are valid only during the call. If the request has an `Accept-Encoding`,
    /// they are as received; a transport that can only deliver them decoded removes `Content-Encoding` from the head.
    /// If the request has none, the content coding is decoded.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes of the body.
    ///   - offset: the number of bytes of the body before these.
    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition
    /// The trailer fields after the body (RFC 9110 section 6.5) were received: at most once, between the last byte and
    /// the end. They are never part of the head. Not called if the server sends none, or the transport's library hides
    /// them.
    func didReceive(trailers: HTTPFields)
    /// The exchange has ended. Called once; nothing follows.
    func didEnd(_ result: Result<TransportSummary, LoadError>)
    /// Several exchanges have ended together, all with receivers of this type. Equivalent to calling `didEnd` of each,
    /// which the default implementation does.
    static func didEnd(_ endings: [TransportEnding])
}

extension TransportReceiver {
    public func didReceive(_ timings: TransportTimings) {}

    public func didReceive(trailers: HTTPFields) {}

    public static func didEnd(_ endings: [TransportEnding]) {
        for ending in endings { ending.receiver.didEnd(ending.result) }
    }
}

/// The end of one exchange, and its receiver.
public struct TransportEnding: Sendable {
    /// The receiver of the exchange's events.
    public var receiver: any TransportReceiver
    /// The result of the exchange: its summary, or its error.
    public var result: Result<TransportSummary, LoadError>

    /// Creates an end, for ``deliver(_:)``.
    public init(receiver: any TransportReceiver, result: Result<TransportSummary, LoadError>) {
        self.receiver = receiver
        self.result = result
    }

    /// Delivers all ends to their receivers. A transport should deliver ends that it found together in one call: the
    /// pipeline then takes its lock once, and wakes a callback queue once, for all of them.
    public static func deliver(_ endings: [TransportEnding]) {
        guard let first = endings.first else { return }
        let type = type(of: first.receiver)
        if endings.allSatisfy({ Swift.type(of: $0.receiver) == type }) {
            type.didEnd(endings)
        } else {
            for ending in endings { ending.receiver.didEnd(ending.result) }
        }
    }
}

/// The request of one exchange.
public struct TransportRequest: Sendable {
    /// The URL to request.
    public var url: ResourceURL
    /// The HTTP method, such as `GET`, to send as it is.
    public var method: String
    /// All header fields to send, `Authorization` included, except those for HTTP's framing.
    public var fields: HTTPFields
    /// The body to send; nil for none.
    public var body: Bytes?
    /// The limits that the transport must enforce.
    public var limits: Limits
    /// The priority at the start of the exchange. ``Transfer/setPriority(_:)`` changes it later.
    public var priority: ImageRequest.Priority
    /// Whether the receiver wants ``TransportTimings``.
    public var wantsTimings = false
    /// Whether the exchange must open a new connection, because the last attempt was lost with a reused one.
    public var needsNewConnection = false

    /// The limits of one exchange.
    public struct Limits: Sendable, Hashable {
        /// The maximum time for name resolution, connection and TLS together. If nil, there is no limit.
        public var connectTimeout: Duration? = .seconds(10)
        /// The longest time without a byte in either direction once connected. A response's head must also be complete
        /// within this time after its first line. If nil, there is no limit.
        public var stallTimeout: Duration? = .seconds(15)
        /// The maximum time for the whole exchange. If nil, there is no limit. A pipeline sets none: it measures the
        /// total time itself.
        public var totalTimeout: Duration?
        /// The maximum number of bytes of the body, on the wire and again after its content coding is decoded.
        public var maximumBodyBytes: Int64 = 200_000_000
        /// The maximum number of bytes of the header fields of one head.
        public var maximumHeadBytes: Int = 256 * 1024

        /// Creates the default limits.
        public init() {}
    }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: the URL to request.
    ///   - method: the HTTP method.
    ///   - fields: all header fields to send, except those for HTTP's framing.
    ///   - body: the body to send; nil for none.
    ///   - limits: the limits of the exchange.
    ///   - priority: the priority at the start of the exchange.
    public init(
        url: ResourceURL, method: String = "GET", fields: HTTPFields = HTTPFields(), body: Bytes? = nil,
        limits: Limits = Limits(), priority: ImageRequest.Priority = .normal
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        self.limits = limits
        self.priority = priority
    }
}

/// The summary of a successful exchange.
public struct TransportSummary: Sendable, Hashable {
    /// The number of bytes of the body on the wire, before content coding was decoded.
    public var wireBytes: Int64
    /// The number of bytes of the body that the receiver got.
    public var bodyBytes: Int64
    /// Whether the exchange used a connection that an earlier one had opened.
    public var reusedConnection: Bool

    /// Creates a summary, in a transport.
    ///
    /// - Parameters:
    ///   - wireBytes: the number of bytes of the body on the wire.
    ///   - bodyBytes: the number of bytes of the body that the receiver got.
    ///   - reusedConnection: whether the exchange used a connection that an earlier one had opened.
    public init(wireBytes: Int64, bodyBytes: Int64, reusedConnection: Bool = false) {
        self.wireBytes = wireBytes
        self.bodyBytes = bodyBytes
        self.reusedConnection = reusedConnection
    }
}

/// The times at which one exchange reached its stages, each from ``Transport/start(_:receiver:)``; nil if it has not
/// reached the stage, or skipped it.
public struct TransportTimings: Sendable, Hashable {
    /// The time until the server's name was resolved, or found to be known already.
    public var nameResolved: Duration?
    /// The time until the connection was established, or one that was already open was assigned to this exchange.
    public var connected: Duration?
    /// The time until the TLS handshake finished. Nil without TLS, and on a connection that was already open.
    public var secured: Duration?
    /// The time until the first byte of the response was received.
    public var firstByte: Duration?
    /// Whether the exchange uses a connection that an earlier one had opened.
    public var reusedConnection: Bool

    /// Creates timings, in a transport. Times that are nil are not reported.
    public init(
        nameResolved: Duration? = nil, connected: Duration? = nil, secured: Duration? = nil, firstByte: Duration? = nil,
        reusedConnection: Bool = false
    ) {
        self.nameResolved = nameResolved
        self.connected = connected
        self.secured = secured
        self.firstByte = firstByte
        self.reusedConnection = reusedConnection
    }
}

/// The underlying error of a load whose host name does not exist or has no address: another attempt will not help.
package struct HostNotFound: Error {
    /// Creates the error.
    package init() {}
}
