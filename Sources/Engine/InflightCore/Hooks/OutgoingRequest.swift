/// A request that is about to go out, for ``ImagePipeline/Configuration/willSend`` to change.
public struct OutgoingRequest: Sendable {
    /// Why it goes out.
    public enum Reason: Sendable, Hashable {
        /// It is the first to this URL in this load.
        case first
        /// The same was sent before, and the server answered 401: what was sent as proof is not good any more. Asked
        /// once for each URL of a load.
        /// - Parameter sent: the fields that were refused: others may have found better ones since.
        case unauthorized(ResponseHead, sent: HTTPFields)
    }

    /// Where it goes: after a redirect, where that led to.
    public let url: ResourceURL
    public let method: String
    /// What is sent. What is put in here goes to this URL alone, and never follows a redirect.
    public var fields: HTTPFields
    public let reason: Reason

    init(_ request: TransportRequest, reason: Reason) {
        url = request.url
        method = request.method
        fields = request.fields
        self.reason = reason
    }
}
