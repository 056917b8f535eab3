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
