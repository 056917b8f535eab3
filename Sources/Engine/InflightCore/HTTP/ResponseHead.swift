/// The part of an HTTP response before its body.
public struct ResponseHead: Sendable, Hashable {
    public enum Version: String, Sendable, Hashable {
        case http1_0 = "1.0"
        case http1_1 = "1.1"
        case http2 = "2"
        case http3 = "3"
        /// Not HTTP: `file:`, `data:`, and scripted responses in tests.
        case none = ""

        /// Whether one connection carries several exchanges at once.
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

extension ResponseHead {
    /// Returns the elements of `names` (in lower case) that this response varies by (RFC 9110 section 12.5.5).
    func namesVaried(among names: Set<String>) -> Set<String> {
        let named = Set(
            fields.values("vary").flatMap { $0.split(separator: ",") }
                .map { String($0.filter { $0 != " " && $0 != "\t" }).lowercased() })
        return named.contains("*") ? names : named.intersection(names)
    }

    /// Returns whether this response varies by a field in `names`. No fields are read if `names` is empty.
    func varies(byAnyOf names: Set<String>) -> Bool {
        !names.isEmpty && !namesVaried(among: names).isEmpty
    }
}
