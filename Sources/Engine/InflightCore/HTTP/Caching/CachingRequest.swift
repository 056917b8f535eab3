/// What the rules of caching look at in a request.
package struct CachingRequest: Sendable, Hashable {
    package var method: String
    /// Without credentials and fragment.
    package var url: String
    /// The caller's, as they would be sent where nothing is stored.
    package var fields: HTTPFields
    package var policy: CachePolicy
    /// Whether the request has a body. What one means in a `GET` only its origin knows (RFC 9110 section 9.3.1), so such an
    /// exchange has nothing to do with what is stored.
    package var hasBody = false
    /// Whether a stale response stands in where no origin can be reached.
    package var servesStaleOnDisconnect = false

    package init(method: String = "GET", url: String, fields: HTTPFields = HTTPFields(), policy: CachePolicy = .obey) {
        self.method = method
        self.url = url
        self.fields = fields
        self.policy = policy
    }

    /// Whether the caller asks on a condition of his own (RFC 9110 section 13.1), `If-Range` aside.
    package var isConditional: Bool {
        Self.conditions.contains { fields.contains($0) }
    }

    static let conditions = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"]

    /// Whether conditions hold that are the origin's alone to judge (RFC 9111 section 4.3.2).
    var asksOriginAlone: Bool { fields.contains("if-match") || fields.contains("if-unmodified-since") }

    /// Whether what is stored could answer it.
    package var isReading: Bool { Self.isReading(method) }

    package static func isReading(_ method: String) -> Bool { method == "GET" || method == "HEAD" }

    /// Neither is anything stored used, nor anything of the exchange stored.
    func passesByStore(_ control: CacheControl) -> Bool {
        policy == .noStore || control.noStore || (hasBody && Invalidation.isSafe(method))
    }

    func mayAskOrigin(_ control: CacheControl) -> Bool { policy != .onlyCached && !control.onlyIfCached }
}
