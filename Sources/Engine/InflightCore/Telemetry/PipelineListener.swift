public import InflightConcurrency

/// An observer of a pipeline: ``ImagePipeline/Configuration/listening``.
public protocol PipelineListener: AnyObject, Sendable {
    /// Receives events, in order, each once.
    ///
    /// - Thread: on the queue that the listener was registered with, never inside a call to the pipeline. The next call
    ///   is enqueued when this one has returned, on a concurrent queue too.
    /// - Cancellation: none. Calls end with the pipeline.
    /// - Cost: the pipeline does not wait for it. While it is busy, events are queued, up to
    ///   ``PipelineListening/capacity``.
    ///
    /// - Parameter leftOut: the number of events dropped after these, because the queue was full.
    func didHear(_ events: [PipelineEvent], leftOut: Int)
}

/// An observer of a pipeline, and its queue.
public struct PipelineListening: Sendable {
    /// Retained by the pipeline until the last event is delivered, and released on ``queue``.
    public let listener: any PipelineListener
    public let queue: CallbackQueue
    /// The maximum number of events queued while the listener is busy. Further events are dropped and counted. About
    /// 100 bytes each, allocated as needed.
    public var capacity = 65_536

    public init(_ listener: any PipelineListener, on queue: CallbackQueue) {
        self.listener = listener
        self.queue = queue
    }
}
