extension ImagePipeline {
    /// A request that is about to be sent. ``ImagePipeline/Configuration/willSend`` may change its ``fields`` and its
    /// ``url``.
    public struct OutgoingRequest: Sendable {
        /// The reason why a request is sent.
        public enum Reason: Sendable, Hashable {
            /// The first request to this URL in this load, or one that is repeated for another reason than rejected
            /// credentials, such as a retry after a transient failure.
            case first
            /// The same request was sent before, and the server responded with 401: its credentials are not valid any
            /// more. Occurs once for each URL of a load.
            ///
            /// The values are the head of that response, and the rejected header fields. Another load may have got
            /// better ones since.
            case unauthorized(ResponseHead, sent: HTTPFields)
        }

        /// The URL that the request is sent to, after redirects. It may be changed, for example to sign it, to another
        /// one of the same origin; with one of another origin, the load fails with ``LoadError/Code/invalidRequest``.
        ///
        /// Requests are coalesced, and responses stored, by the URL before the change. Results, events, the log and
        /// errors name that one too, because a signature is a secret. A relative redirect starts from the changed one.
        public var url: ResourceURL
        /// The HTTP method, after redirects.
        public let method: String
        /// The header fields to send. Fields that are added here go to this URL alone, and never follow a redirect.
        public var fields: HTTPFields
        /// The reason why the request is sent.
        public let reason: Reason
        /// The ``ImageRequest/userInfo`` of the load that began the fetch.
        public let userInfo: [String: String]

        init(_ request: TransportRequest, reason: Reason, userInfo: [String: String]) {
            self.userInfo = userInfo
            url = request.url
            method = request.method
            fields = request.fields
            self.reason = reason
        }
    }
}
