public import InflightConcurrency

extension ImagePipeline {
    /// An observer of a pipeline's events, for ``ImagePipeline/Configuration/observer``.
    public protocol Observer: AnyObject, Sendable {
        /// Receives events, in order, each once.
        ///
        /// - Thread: on the queue that the observer was registered with, never inside a call to the pipeline. The next
        ///   call is enqueued when this one has returned, on a concurrent queue too.
        /// - Cancellation: none. Calls end with the pipeline.
        /// - Cost: the pipeline does not wait for it. While it is busy, events are queued, up to
        ///   ``Observation/capacity``.
        ///
        /// - Parameters:
        ///   - events: the events since the last call, oldest first.
        ///   - dropped: the number of events dropped after these, because the queue was full.
        func didObserve(_ events: [Event], dropped: Int)
    }

    /// An observer of a pipeline, and its queue.
    public struct Observation: Sendable {
        /// The observer, retained by the pipeline until the last event is delivered, and released on ``queue``.
        public let observer: any Observer
        /// The queue on which the observer is called.
        public let queue: CallbackQueue
        /// The maximum number of events queued while the observer is busy. Further events are dropped and counted.
        /// About 100 bytes each, allocated as needed.
        public var capacity = 65_536

        /// Creates an observation, for a pipeline's configuration.
        ///
        /// - Parameters:
        ///   - observer: the observer.
        ///   - queue: the queue on which it is called. It may be concurrent: calls are made one at a time.
        public init(_ observer: any Observer, on queue: CallbackQueue) {
            self.observer = observer
            self.queue = queue
        }
    }
}
