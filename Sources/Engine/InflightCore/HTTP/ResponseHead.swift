/// The part of a response before its body: status, version and header fields.
public struct ResponseHead: Sendable, Hashable {
    /// The protocol version of a response. The raw value is the number in the version's name.
    public enum Version: String, Sendable, Hashable {
        /// HTTP/1.0 (RFC 1945).
        case http1_0 = "1.0"
        /// HTTP/1.1 (RFC 9112).
        case http1_1 = "1.1"
        /// HTTP/2 (RFC 9113).
        case http2 = "2"
        /// HTTP/3 (RFC 9114).
        case http3 = "3"
        /// Not HTTP: `file:`, `data:`, and scripted responses in tests.
        case none = ""

        /// Whether one connection carries several exchanges at once.
        public var isMultiplexed: Bool { self == .http2 || self == .http3 }
    }

    /// The status code (RFC 9110 section 15), such as 200.
    public var status: Int
    /// The protocol version.
    public var version: Version
    /// The header fields, in wire order.
    public var fields: HTTPFields

    /// Creates a head, for example in a transport.
    ///
    /// - Parameters:
    ///   - status: the status code; 200 for a successful response that is not HTTP.
    ///   - version: the protocol version; ``Version/none`` if the response is not HTTP.
    ///   - fields: the header fields, in wire order.
    public init(status: Int, version: Version = .http1_1, fields: HTTPFields = HTTPFields()) {
        self.status = status
        self.version = version
        self.fields = fields
    }
}

extension ResponseHead {
    /// Whether the body is a part of the representation (RFC 9110 section 15.3.7), and not the whole of it.
    var isPart: Bool {
        guard status == 206 else { return false }
        guard let range = ContentRange(fields), let total = range.total, range.range == 0..<total else { return true }
        return Resumption.announcedLength(fields).map { $0 != total } ?? fields.contains("content-length")
    }

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

extension ResponseHead {
    /// Whether the body has a length, chunks, a stream or a coding with an end of its own, so that its end is known.
    var delimitsBody: Bool {
        guard version == .http1_0 || version == .http1_1 else { return true }
        return ["content-length", "transfer-encoding", "content-encoding"].contains { fields.contains($0) }
    }
}
