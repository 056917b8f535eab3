/// The data stored beside a response's body: enough to decide how a later request may use it (RFC 9111).
public struct StoredResponse: Hashable, Sendable {
    /// The method of the request: `GET`, or another one whose response HTTP allows caches to store.
    public var method: String
    /// The URL of the response, without credentials and fragment.
    public var url: String
    /// The request's fields by which the response was selected, each on one line: those that its `Vary` names (RFC 9111
    /// section 4.1) and, unless it is `public`, the credentials. Secrets are stored as digests.
    public var varyFields: HTTPFields
    /// The status, version and header fields of the response.
    public var head: ResponseHead
    /// The time at which the request was sent (RFC 9111 section 4.2.3).
    public var requestTime: WallTime
    /// The time at which the response's head was received (RFC 9111 section 4.2.3).
    public var responseTime: WallTime
    /// The stored bytes of the representation; all of them if it is from 0 to ``totalLength``. If some are missing,
    /// ``head`` is still that of the whole: status 200, without `Content-Range`.
    public var bodyRange: Range<Int64>
    /// The length of the whole representation in bytes, in its content coding; `nil` if it is unknown.
    public var totalLength: Int64?

    /// Creates the data of a response to store.
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - url: the URL of the response, without credentials and fragment.
    ///   - varyFields: the request's fields by which the response was selected; see ``varyFields``.
    ///   - head: the head of the response; for a part of a body, that of the whole.
    ///   - requestTime: the time at which the request was sent.
    ///   - responseTime: the time at which the response's head was received.
    ///   - bodyRange: the bytes of the representation that are stored.
    ///   - totalLength: the length of the whole representation in bytes; nil if it is unknown.
    public init(
        method: String, url: String, varyFields: HTTPFields, head: ResponseHead, requestTime: WallTime,
        responseTime: WallTime, bodyRange: Range<Int64>, totalLength: Int64?
    ) {
        self.method = method
        self.url = url
        self.varyFields = varyFields
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.bodyRange = bodyRange
        self.totalLength = totalLength
    }

    /// Whether the whole body is stored.
    public var isComplete: Bool { bodyRange.lowerBound == 0 && bodyRange.upperBound == totalLength }
}
