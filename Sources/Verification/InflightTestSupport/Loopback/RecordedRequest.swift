public import InflightConcurrency
public import InflightCore

extension LoopbackServer {
    /// A request as the server read it.
    public struct RecordedRequest: Sendable {
        /// The method as sent: `GET`, `HEAD`, …
        public var method: String
        /// The target as sent: path and query, still percent-encoded.
        public var target: String
        /// The header fields in the order in which they were sent, repeated ones too.
        public var fields: HTTPFields
        /// The body. A chunked one is reassembled.
        public var body: Bytes
        /// The number of its connection. The server's first connection is 1.
        public var connection: Int
        /// The number of the request on its connection, from 1. It is above 1 if the connection was reused.
        public var ordinal: Int
        /// The time at which its last byte was read, by ``SystemClock``.
        public var time: MonotonicTime

        /// The target without its query.
        public var path: String { LoopbackServer.path(of: target) }
    }

    static func path(of target: String) -> String {
        guard let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target }
        return String(target[..<end])
    }
}
