/// The part of an HTTP answer before its body.
public struct ResponseHead: Sendable, Hashable {
    public enum Version: String, Sendable, Hashable {
        case http1_0 = "1.0"
        case http1_1 = "1.1"
        case http2 = "2"
        case http3 = "3"
        /// `file:`, `data:` and scripts in tests.
        case none = ""

        /// Whether one connection carries many exchanges at once.
        public var isMultiplexed: Bool { self == .http2 || self == .http3 }
    }

    public var status: Int
    public var version: Version
    public var fields: HTTPFields

    public init(status: Int, version: Version = .http1_1, fields: HTTPFields = HTTPFields()) {
        self.status = status
        self.version = version
        self.fields = fields
    }
}
