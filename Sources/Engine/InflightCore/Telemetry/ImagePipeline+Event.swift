public import InflightConcurrency

extension ImagePipeline {
    /// An event in a pipeline, for an ``Observer``.
    ///
    /// Events are delivered in the order in which they happened. Their times never go back, except for
    /// ``Kind/nameResolved``, ``Kind/connected(reused:)``, ``Kind/secured`` and ``Kind/firstByte``: a transport reports
    /// those together, with the head of the response, each with its own time.
    ///
    /// URLs have no credentials. They and other texts are untrusted input from servers and programs. Escape them for
    /// the place where they are displayed.
    public struct Event: Sendable, Hashable {
        /// The number of a load, equal to its ``ImageTask/number``: counted from 1, in the order in which the tasks
        /// were created.
        public typealias TaskNumber = UInt32
        /// The number of a job, unique in the pipeline.
        public typealias JobNumber = UInt64

        /// The time by the pipeline's clock.
        public var time: MonotonicTime
        /// The load concerned; nil if the event concerns a job alone.
        public var task: TaskNumber?
        /// The job concerned; nil if the event concerns a load alone.
        public var job: JobNumber?
        /// The kind of the event, with its details.
        public var kind: Kind

        /// Creates an event, for tests of an ``Observer``.
        ///
        /// - Parameters:
        ///   - time: the time by the pipeline's clock.
        ///   - task: the load concerned; nil if the event concerns a job alone.
        ///   - job: the job concerned; nil if the event concerns a load alone.
        ///   - kind: the kind of the event.
        public init(time: MonotonicTime, task: TaskNumber? = nil, job: JobNumber? = nil, kind: Kind) {
            self.time = time
            self.task = task
            self.job = job
            self.kind = kind
        }

        /// The lanes in which jobs are queued.
        public enum Lane: String, Sendable, Hashable, CaseIterable {
            /// Lookups in the store.
            case store
            /// Exchanges, and the program's own sources.
            case fetch
            /// Decodes, processors and previews.
            case decode
        }

        /// The work that a job does.
        public enum JobKind: String, Sendable, Hashable, CaseIterable {
            /// Fetching the bytes of a URL: a lookup in the store, exchanges, or both.
            case fetch
            /// Getting bytes or an image from the program's own code.
            case source
            /// Looking up the processed image in the store.
            case lookUp
            /// Decoding the bytes.
            case decode
            /// Applying one processor.
            case process
        }

        /// The result of a lookup in the store.
        public enum LookUp: String, Sendable, Hashable, CaseIterable {
            /// No response under this key.
            case nothing
            /// A fresh response.
            case fresh
            /// A stale response that may be used nevertheless.
            case stale
            /// A response that may be used if its origin confirms it.
            case validator
            /// A partial response: the first part of a body.
            case part
            /// A response that must not be used.
            case useless
        }

        /// The state of an origin's circuit, which says whether the pipeline connects to it: see
        /// ``ImagePipeline/CircuitBreaker``.
        public enum CircuitState: Sendable, Hashable {
            /// Loads connect.
            case closed
            /// No load connects until a probe is due, after this time.
            case open(after: Duration)
            /// One load connects as a probe.
            case halfOpen
        }

        /// The kind of an event, with its details. Events about loads have a ``ImagePipeline/Event/task``, all others a
        /// ``ImagePipeline/Event/job``; ``subscribed`` and ``coalesced`` have both.
        public enum Kind: Sendable, Hashable {
            // MARK: Loads

            /// The load began. If the URL is invalid, this is its text without credentials.
            case requested(url: String)
            /// The image was found in memory.
            case foundInMemory
            /// The load waits for the result of this job.
            case subscribed
            /// The job was already in flight for another load.
            case coalesced
            /// The load continues elsewhere: with a fallback, or with its origin because the stored data is unusable.
            case rerouted(why: String)
            /// The outcome is known.
            case finished(Outcome)
            /// The result was delivered. Nothing follows.
            case delivered
            /// The callback queue has dropped the result, so it is never delivered. Nothing follows.
            case dropped
            /// The load's owner cancelled it. Nothing follows.
            case cancelled

            // MARK: Jobs

            /// The job was created.
            ///
            /// - subject: the URL, and for a processor its number.
            /// - after: the job whose result is this job's input.
            case created(JobKind, subject: String, after: JobNumber?)
            /// The job waits for a slot in a lane.
            case queued(Lane)
            /// The job has a slot in the lane, and runs.
            case started(Lane)
            /// The job's priority: the highest of its subscribers.
            case prioritized(ImageRequest.Priority)
            /// The job waits, without a slot, for its next attempt.
            case retryScheduled(after: Duration, why: String)
            /// The job has changed the state of an origin's circuit.
            case circuitChanged(origin: String, CircuitState)
            /// The last subscriber has left.
            case abandoned
            /// The job succeeded. Only events about the store follow.
            case succeeded
            /// The job failed. Nothing follows.
            case failed(LoadError.Code, why: String)
            /// The job never ran, or was not running at the time. Nothing follows.
            case discarded
            /// The job had no subscribers, and its work has stopped. Nothing follows.
            case stopped

            // MARK: Fetches

            /// The store was searched, with this result.
            case lookedUp(LookUp)
            /// An entry's body was read from the store.
            case readFromStore(bytes: Int64)
            /// A request was handed to a transport.
            ///
            /// - resumesAt: the first byte of the body that is requested; 0 for the whole body.
            case sent(method: String, url: String, resumesAt: Int64)
            /// The server's name was resolved, or was already known.
            case nameResolved
            /// The connection was established, or an open one was assigned to the exchange.
            ///
            /// - reused: whether the connection was already open.
            case connected(reused: Bool)
            /// The TLS handshake has finished.
            case secured
            /// The first byte of the response was received.
            case firstByte
            /// The head of a response was received.
            case responded(status: Int)
            /// The number of body bytes received so far. Reported about every 64 KiB, and at the end of the exchange.
            case received(bytes: Int64)
            /// The exchange has ended.
            ///
            /// - wireBytes: the bytes of the body on the wire; nil if the exchange broke or was cancelled.
            case exchangeEnded(wireBytes: Int64?)
            /// The response is a redirect. The fetch continues at this URL.
            case redirected(to: String)
            /// The origin confirmed the stored response.
            case revalidated
            /// The rest of a partial body is being received, from this byte on.
            case resumed(at: Int64)
            /// The request is repeated at once, in the same slot.
            case resent(why: String)
            /// Bytes were handed to the store.
            case storing(bytes: Int64)
            /// The store has finished a write. May follow the job's end.
            case stored(bytes: Int64)

            // MARK: Decodes and processors

            /// The decode waits until others release memory, because it needs this many bytes.
            case waitsForMemory(bytes: Int)
            /// The image was decoded to this size, in pixels.
            case decoded(width: Int, height: Int)
            /// The processor returned an image of this size, in pixels.
            case processed(width: Int, height: Int)
            /// A preview was made for the subscribers of a fetch, with this ``ImagePreview/detail``.
            case previewed(detail: Int)
        }

        /// The outcome of a load.
        public enum Outcome: Sendable, Hashable {
            /// The load succeeded, with a result from this source.
            case success(LoadSource)
            /// The load failed.
            case failure(LoadError.Code)
        }
    }
}

extension ImagePipeline.Event.Kind {
    /// Whether the job ends with this event. Exactly one such event occurs for each job. Only events about the store
    /// may follow it.
    public var endsJob: Bool {
        switch self {
        case .succeeded, .failed, .discarded, .stopped: true
        default: false
        }
    }
}
