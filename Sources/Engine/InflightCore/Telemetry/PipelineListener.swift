public import InflightConcurrency

/// Hears what happens in a pipeline: ``ImagePipeline/Configuration/listening``.
public protocol PipelineListener: AnyObject, Sendable {
    /// Events, in order, each told once.
    ///
    /// - Thread: on the queue that the listener was registered with, never inside a call to the pipeline. The next call
    ///   is handed over when this one has returned, on a concurrent queue too.
    /// - Cancellation: there is none; it ends with the pipeline.
    /// - Cost: the pipeline does not wait for it. What comes while it is busy is kept up to
    ///   ``PipelineListening/capacity``.
    ///
    /// - Parameter leftOut: how many events were left out behind these, because more would not have fitted.
    func didHear(_ events: [PipelineEvent], leftOut: Int)
}

/// Who listens to a pipeline, and where.
public struct PipelineListening: Sendable {
    /// Held by the pipeline until the last event is told, and let go of on ``queue``.
    public let listener: any PipelineListener
    public let queue: CallbackQueue
    /// Events that are kept for the listener while it is busy. Those that do not fit are left out and counted. About
    /// 100 bytes each, taken as they are needed.
    public var capacity = 65_536

    public init(_ listener: any PipelineListener, on queue: CallbackQueue) {
        self.listener = listener
        self.queue = queue
    }
}
