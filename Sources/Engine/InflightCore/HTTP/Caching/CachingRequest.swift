/// The properties of a request that matter for caching.
package struct CachingRequest: Sendable, Hashable {
    package var method: String
    /// The URL without credentials and fragment.
    package var url: String
    /// The caller's header fields, as they would be sent if nothing were stored.
    package var fields: HTTPFields
    package var policy: ImageRequest.CachePolicy
    /// Whether the request has a body. Only the origin knows the meaning of a body in a `GET` (RFC 9110 section 9.3.1),
    /// so such an exchange bypasses the store.
    package var hasBody = false
    /// Whether a stale response may be served if no origin can be reached.
    package var servesStaleOnDisconnect = false

    package init(
        method: String = "GET", url: String, fields: HTTPFields = HTTPFields(), policy: ImageRequest.CachePolicy = .obey
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.policy = policy
    }

    /// Whether the caller sets conditions of its own (RFC 9110 section 13.1), except for `If-Range`.
    package var isConditional: Bool {
        Self.conditions.contains { fields.contains($0) }
    }

    static let conditions = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"]

    /// Whether there are conditions that only the origin can evaluate (RFC 9111 section 4.3.2).
    var hasOriginConditions: Bool { fields.contains("if-match") || fields.contains("if-unmodified-since") }

    /// Whether a stored response could serve the request.
    package var isReading: Bool { Self.isReading(method) }

    package static func isReading(_ method: String) -> Bool { method == "GET" || method == "HEAD" }

    /// Returns whether the exchange neither uses stored responses nor is stored.
    func bypassesStore(_ control: CacheControl) -> Bool {
        policy == .noStore || control.noStore || (hasBody && Invalidation.isSafe(method))
    }

    func allowsNetwork(_ control: CacheControl) -> Bool { policy != .onlyCached && !control.onlyIfCached }
}
