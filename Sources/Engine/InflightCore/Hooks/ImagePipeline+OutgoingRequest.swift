extension ImagePipeline {
    /// A request that is about to be sent, for ``ImagePipeline/Configuration/willSend`` to change.
    public struct OutgoingRequest: Sendable {
        /// The reason why a request is sent.
        public enum Reason: Sendable, Hashable {
            /// The first request to this URL in this load.
            case first
            /// The same request was sent before, and the server responded with 401: its credentials are not valid any
            /// more. Occurs once for each URL of a load.
            /// - Parameter sent: the rejected header fields. Another load may have got better ones since.
            case unauthorized(ResponseHead, sent: HTTPFields)
        }

        /// The URL that the request is sent to, after redirects.
        public let url: ResourceURL
        public let method: String
        /// The header fields to send. Fields that are added here go to this URL alone, and never follow a redirect.
        public var fields: HTTPFields
        public let reason: Reason

        init(_ request: TransportRequest, reason: Reason) {
            url = request.url
            method = request.method
            fields = request.fields
            self.reason = reason
        }
    }
}
