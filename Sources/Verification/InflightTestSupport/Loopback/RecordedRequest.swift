public import InflightConcurrency
public import InflightCore

extension LoopbackServer {
    /// A request as the server read it.
    public struct RecordedRequest: Sendable {
        /// As it was sent: `GET`, `HEAD`, …
        public var method: String
        /// As it was sent: path and query, still percent-encoded.
        public var target: String
        public var fields: HTTPFields
        /// The body, a chunked one put together again.
        public var body: Bytes
        /// Which connection it came over: 1 is the first that this server accepted.
        public var connection: Int
        /// Which request of its connection it was, from 1: above 1 on a connection that was used again.
        public var ordinal: Int
        /// When its last byte had been read, by ``SystemClock``.
        public var time: MonotonicTime

        /// The target without its query.
        public var path: String { LoopbackServer.path(of: target) }
    }

    static func path(of target: String) -> String {
        guard let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target }
        return String(target[..<end])
    }
}
