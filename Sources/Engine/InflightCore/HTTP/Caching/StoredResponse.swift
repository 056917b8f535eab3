/// What is kept of an answer beside its body: enough to decide what a later request may do with it (RFC 9111).
public struct StoredResponse: Hashable, Sendable {
    /// The method that it answers: `GET`, or another that HTTP lets be kept.
    public var method: String
    /// The URL that answered, without credentials and fragment.
    public var url: String
    /// The request's fields that the answer was chosen by, each on one line: those that its `Vary` names (RFC 9111 section
    /// 4.1), and `Authorization`; of what is secret a digest.
    public var selectingFields: HTTPFields
    public var head: ResponseHead
    /// When the request that it answers was sent, and when its head came (RFC 9111 section 4.2.3).
    public var requestTime: WallTime
    public var responseTime: WallTime
    /// Which bytes of the representation are kept; all of them start at 0 and end at ``totalLength``. Where some are
    /// missing, ``head`` is still that of the whole: status 200, without `Content-Range`.
    public var bodyRange: Range<Int64>
    /// How long the whole representation is, in its content coding; `nil` where nobody knows.
    public var totalLength: Int64?

    public init(
        method: String, url: String, selectingFields: HTTPFields, head: ResponseHead, requestTime: WallTime,
        responseTime: WallTime, bodyRange: Range<Int64>, totalLength: Int64?
    ) {
        self.method = method
        self.url = url
        self.selectingFields = selectingFields
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.bodyRange = bodyRange
        self.totalLength = totalLength
    }

    /// Whether the whole body is kept.
    public var isComplete: Bool { bodyRange.lowerBound == 0 && bodyRange.upperBound == totalLength }
}
