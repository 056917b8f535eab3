public import InflightConcurrency

extension LoopbackServer {
    /// An event of the server, on one of its connections.
    public struct Event: Sendable, Hashable, CustomStringConvertible {
        /// The kinds of events.
        public enum Kind: Sendable, Hashable {
            /// The connection was accepted.
            case connectionOpened
            /// The TLS handshake failed. The text is OpenSSL's reason.
            case handshakeFailed(String)
            /// The whole request was read.
            case requestReceived
            /// The system has accepted the response's last byte.
            case answered
            /// The response waits for ``LoopbackServer/release(_:)`` of that name.
            case held(String)
            /// The response has passed the hold of that name.
            case released(String)
            /// The peer closed or reset the connection. ``Event/path`` is the path being served then, nil on an idle
            /// connection.
            case closedByPeer
            /// A script, HTTP's rules, or ``LoopbackServer/stop()`` closed the connection.
            case closedByServer
        }

        /// The kind of the event.
        public var kind: Kind
        /// The number of the connection. The server's first connection is 1.
        public var connection: Int
        /// The path being served; nil outside an exchange.
        public var path: String?
        /// The time of the event, by ``SystemClock``.
        public var time: MonotonicTime

        public var description: String {
            "\(time.nanoseconds / 1000) µs: connection \(connection): \(kind)\(path.map { " \($0)" } ?? "")"
        }
    }
}
