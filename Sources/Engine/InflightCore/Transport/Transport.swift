/// Moves bytes: one exchange for each call, no redirects, no cache, no retries. Those are the engine's.
///
/// Conformers serve HTTP by libcurl, files, `data:` URLs, or a test's script. Every method may be called from any
/// thread.
public protocol Transport: Sendable {
    /// The URL schemes that this transport serves, in lower case.
    var schemes: Set<String> { get }

    /// Starts an exchange and returns at once, without blocking and without calling `receiver`.
    ///
    /// The receiver is kept alive until it has been told the end. Every exchange ends with exactly one
    /// ``TransportReceiver/didEnd(_:)``, cancelled ones included, when its work has in fact stopped.
    func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer

    /// Ends what is under way (each of its receivers is told an error), and lets go of threads and connections.
    /// Returns when that is done. Later starts fail with ``LoadError/Code/shutDown``.
    func shutdown() async
}

/// One exchange under way.
public protocol Transfer: AnyObject, Sendable {
    /// Stops the exchange: its connection is closed, or left clean for another. Idempotent, any thread, does not
    /// block; the receiver's end follows soon.
    func cancel()

    /// Goes on after ``TransportReceiver/didReceive(_:at:)`` answered ``TransportDisposition/pause``.
    func resume()

    /// Changes how urgent the exchange is compared with others: at first as ``TransportRequest/priority`` says.
    ///
    /// A hint: a transport that cannot act on it ignores it, as the default implementation does. May be called from any
    /// thread, at any time until the transfer is released, its end included. Does not block, and does not call the
    /// receiver. Of two calls that overlap either may count; the engine makes the right one last.
    func setPriority(_ priority: LoadPriority)
}

extension Transfer {
    public func setPriority(_ priority: LoadPriority) {}
}

/// What a receiver wants to be done after it was told something.
public enum TransportDisposition: Sendable {
    case proceed
    /// Stop here: the exchange is cancelled, and ends as such.
    case cancel
    /// Take no more bytes off the wire until ``Transfer/resume()``.
    case pause
}

/// Hears what happens in one exchange: calls come one after the other, never two at once, never from inside
/// ``Transport/start(_:receiver:)`` or ``Transfer/cancel()``, and in the order of the wire. It must not block.
public protocol TransportReceiver: AnyObject, Sendable {
    /// How long the exchange took to get where it is: at most once, before the final head, or before an end without one.
    /// Only where ``TransportRequest/wantsTimings`` asks for it, and the transport knows.
    func didReceive(_ timings: TransportTimings)
    /// An interim answer (1xx).
    func didReceive(interim head: ResponseHead)
    /// The answer's head: once, before any byte of the body, so that a body can be refused unread.
    /// - Parameter expectedBytes: the length of the body on the wire, before content coding is undone, where the
    ///   server told it.
    func didReceive(_ head: ResponseHead, expectedBytes: Int64?) -> TransportDisposition
    /// Bytes of the body, valid for the length of the call alone. Where the request has an `Accept-Encoding` of its own
    /// they are as they came; a transport that can only give them with their content coding undone takes
    /// `Content-Encoding` off the head. Where it has none, the coding is undone.
    /// - Parameter offset: how many bytes of the body came before these.
    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition
    /// The trailer fields behind the body (RFC 9110 section 6.5), as they came: at most once, between the last byte and
    /// the end. They are never part of the head. Nothing is told where a server sends none, and where what a transport is
    /// built on hides them.
    func didReceive(trailers: HTTPFields)
    /// The end, once: nothing follows.
    func didEnd(_ result: Result<TransportSummary, LoadError>)
    /// The ends of several exchanges that came together, all of receivers of this type: the same as telling each its
    /// own, which is what happens where a type does not have anything better to do.
    static func didEnd(_ endings: [TransportEnding])
}

extension TransportReceiver {
    public func didReceive(_ timings: TransportTimings) {}

    public func didReceive(trailers: HTTPFields) {}

    public static func didEnd(_ endings: [TransportEnding]) {
        for ending in endings { ending.receiver.didEnd(ending.result) }
    }
}

/// The end of one exchange, and who is to hear of it.
public struct TransportEnding: Sendable {
    public var receiver: any TransportReceiver
    public var result: Result<TransportSummary, LoadError>

    public init(receiver: any TransportReceiver, result: Result<TransportSummary, LoadError>) {
        self.receiver = receiver
        self.result = result
    }

    /// Tells all receivers their ends. What a transport has found out together it should tell together: the pipeline
    /// then takes its lock once, and wakes a callback queue once, for all of them.
    public static func tell(_ endings: [TransportEnding]) {
        guard let first = endings.first else { return }
        let type = type(of: first.receiver)
        if endings.allSatisfy({ Swift.type(of: $0.receiver) == type }) {
            type.didEnd(endings)
        } else {
            for ending in endings { ending.receiver.didEnd(ending.result) }
        }
    }
}

/// What one exchange asks for.
public struct TransportRequest: Sendable {
    public var url: ResourceURL
    /// `GET`, `HEAD`, … in upper case.
    public var method: String
    /// Everything that is sent, `Authorization` included, but for what HTTP's framing adds.
    public var fields: HTTPFields
    public var body: Bytes?
    public var limits: Limits
    public var priority: LoadPriority
    /// Whether somebody wants to hear how long the connection took.
    public var wantsTimings = false
    /// Whether it must open a connection of its own: the last attempt was lost with one that it shared.
    public var needsNewConnection = false

    public struct Limits: Sendable, Hashable {
        /// For name, connection and TLS together. `nil`: none.
        public var connectTimeout: Duration? = .seconds(10)
        /// The longest time without a byte in either direction once connected. A response's head has to be whole as long after
        /// its first line. `nil`: none.
        public var stallTimeout: Duration? = .seconds(15)
        /// For the whole exchange. `nil`: none.
        public var totalTimeout: Duration?
        /// For the body on the wire, and again after its content coding is undone.
        public var maximumBodyBytes: Int64 = 200_000_000
        /// For the fields of one head.
        public var maximumHeadBytes: Int = 256 * 1024

        public init() {}
    }

    public init(
        url: ResourceURL, method: String = "GET", fields: HTTPFields = HTTPFields(), body: Bytes? = nil,
        limits: Limits = Limits(), priority: LoadPriority = .normal
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.body = body
        self.limits = limits
        self.priority = priority
    }
}

/// What an exchange that went well says of itself when it has ended.
public struct TransportSummary: Sendable, Hashable {
    /// Bytes of the body on the wire, before content coding was undone.
    public var wireBytes: Int64
    /// Bytes of the body that the receiver got.
    public var bodyBytes: Int64
    /// Whether the exchange went over a connection that an earlier one had opened.
    public var reusedConnection: Bool

    public init(wireBytes: Int64, bodyBytes: Int64, reusedConnection: Bool = false) {
        self.wireBytes = wireBytes
        self.bodyBytes = bodyBytes
        self.reusedConnection = reusedConnection
    }
}
