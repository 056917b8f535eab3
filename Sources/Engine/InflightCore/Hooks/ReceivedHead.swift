/// The head of an answer, for ``ImagePipeline/Configuration/didReceive`` to judge before its body is taken.
public struct ReceivedHead: Sendable {
    /// The URL that answered, after redirects.
    public let url: ResourceURL
    public let head: ResponseHead
    /// The length of the body on the wire, where the server told it.
    public let expectedBytes: Int64?
}

/// What is to be done with an answer.
public enum HeadDecision: Sendable {
    /// What its status means, as without a hook.
    case byStatus
    /// Its body is what was asked for, whatever the status.
    case accept
    /// The load fails with ``LoadError/Code/refused``, and the body is not taken.
    case refuse(String)
    /// The answer is taken to have begun with this head instead; then what its status means.
    case rewrite(ResponseHead)
}
