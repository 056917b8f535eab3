/// How long one exchange took to get to each of its points, each counted from ``Transport/start(_:receiver:)``; `nil` where
/// it has not got there, or nothing had to be done.
public struct TransportTimings: Sendable, Hashable {
    /// The server's name is resolved, or was known.
    public var nameResolved: Duration?
    /// A connection is there. For one that was there already: when it was given to this exchange.
    public var connected: Duration?
    /// TLS is done. `nil` without TLS, and on a connection that was there already.
    public var secured: Duration?
    /// The first byte of the answer is there.
    public var firstByte: Duration?
    /// Whether the exchange goes over a connection that an earlier one had opened.
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
