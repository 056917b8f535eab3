extension ImagePipeline {
    /// The head of a response, for ``ImagePipeline/Configuration/didReceive`` to judge before its body is received.
    public struct ReceivedHead: Sendable {
        /// The URL that responded, after redirects.
        public let url: ResourceURL
        /// The status, version and header fields of the response.
        public let head: ResponseHead
        /// The length of the body on the wire in bytes; nil if the server did not announce it.
        public let expectedBytes: Int64?
        /// The ``ImageRequest/userInfo`` of the load that began the fetch.
        public let userInfo: [String: String]
    }

    /// A decision of ``ImagePipeline/Configuration/didReceive`` about a response.
    public enum HeadDecision: Sendable {
        /// Handle the response by its status, as without a hook.
        case byStatus
        /// Accept the body, whatever the status.
        case accept
        /// Fail the load with ``LoadError/Code/refused`` and this message, without receiving the body. The response is
        /// not stored.
        case refuse(String)
        /// Replace the head by this one, then handle the response by its status. The response is not stored.
        case rewrite(ResponseHead)
    }
}
