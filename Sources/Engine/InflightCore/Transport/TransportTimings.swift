/// The times at which one exchange reached its stages, each from ``Transport/start(_:receiver:)``; nil if it has not
/// reached the stage, or skipped it.
public struct TransportTimings: Sendable, Hashable {
    /// The server's name was resolved, or was known.
    public var nameResolved: Duration?
    /// The connection was established, or a connection that was already open was assigned to this exchange.
    public var connected: Duration?
    /// The TLS handshake finished. Nil without TLS, and on a connection that was already open.
    public var secured: Duration?
    /// The first byte of the response was received.
    public var firstByte: Duration?
    /// Whether the exchange uses a connection that an earlier one had opened.
    public var reusedConnection: Bool

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
