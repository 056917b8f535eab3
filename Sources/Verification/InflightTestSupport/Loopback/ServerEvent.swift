public import InflightConcurrency

extension LoopbackServer {
    /// Something that the server saw or did.
    public struct Event: Sendable, Hashable, CustomStringConvertible {
        public enum Kind: Sendable, Hashable {
            case connectionOpened
            /// TLS could not be agreed on; the text is OpenSSL's reason.
            case handshakeFailed(String)
            /// The whole request was read.
            case requestReceived
            /// The answer's last byte was given to the system.
            case answered
            /// The answer waits for ``LoopbackServer/release(_:)`` of that name.
            case held(String)
            case released(String)
            /// The other side closed or reset the connection. ``Event/path`` is what was being answered then, `nil` on
            /// an idle connection.
            case closedByPeer
            /// A script, HTTP's rules, or ``LoopbackServer/stop()`` closed the connection.
            case closedByServer
        }

        public var kind: Kind
        /// 1 is the first connection that this server accepted.
        public var connection: Int
        /// What was being answered; `nil` outside an exchange.
        public var path: String?
        /// By ``SystemClock``.
        public var time: MonotonicTime

        public var description: String {
            "\(time.nanoseconds / 1000) µs: connection \(connection): \(kind)\(path.map { " \($0)" } ?? "")"
        }
    }
}
