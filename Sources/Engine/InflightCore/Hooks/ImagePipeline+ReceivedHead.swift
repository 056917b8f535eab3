extension ImagePipeline {
    /// The head of a response, for ``ImagePipeline/Configuration/didReceive`` to judge before its body is received.
    public struct ReceivedHead: Sendable {
        /// The URL that responded, after redirects.
        public let url: ResourceURL
        public let head: ResponseHead
        /// The length of the body on the wire, if the server sent it.
        public let expectedBytes: Int64?
    }

    /// A decision about a response.
    public enum HeadDecision: Sendable {
        /// Handle the response by its status, as without a hook.
        case byStatus
        /// Accept the body, whatever the status.
        case accept
        /// Fail the load with ``LoadError/Code/refused``, without receiving the body.
        case refuse(String)
        /// Replace the head by this one, then handle the response by its status.
        case rewrite(ResponseHead)
    }
}
