public import InflightConcurrency

/// One thing that happened in a pipeline, for a ``PipelineListener``.
///
/// Events come in the order in which they happened. Their times never go back, but for ``Kind/nameResolved``,
/// ``Kind/connected(reused:)``, ``Kind/secured`` and ``Kind/firstByte``: a transport tells those together, with the head of
/// the answer, each with the time at which it was.
///
/// URLs are without credentials. They and other texts are as they came from servers and programs: whoever shows them makes
/// them safe for the place where they go.
public struct PipelineEvent: Sendable, Hashable {
    /// A load's number, as ``ImageTask/number`` has it: from 1, in the order in which the tasks were made.
    public typealias TaskNumber = UInt32
    /// A job's number: no other job of the pipeline has it.
    public typealias JobNumber = UInt64

    /// By the pipeline's clock.
    public var time: MonotonicTime
    /// The load that it concerns; `nil` where it concerns a job alone.
    public var task: TaskNumber?
    /// The piece of shared work that it concerns; `nil` where it concerns a load alone.
    public var job: JobNumber?
    public var kind: Kind

    public init(time: MonotonicTime, task: TaskNumber? = nil, job: JobNumber? = nil, kind: Kind) {
        self.time = time
        self.task = task
        self.job = job
        self.kind = kind
    }

    /// Where jobs wait for their turn.
    public enum Lane: String, Sendable, Hashable, CaseIterable {
        /// Look-ups in the store.
        case store
        /// Exchanges, and the program's own sources.
        case fetch
        /// Decodes and processors.
        case decode
    }

    public enum JobKind: String, Sendable, Hashable, CaseIterable {
        case fetch
        /// The program's own code gives the bytes or the picture.
        case source
        /// Looks whether the picture is stored as it was asked for.
        case lookUp
        case decode
        case process
    }

    /// What a look into the store has found.
    public enum LookUp: String, Sendable, Hashable, CaseIterable {
        /// Nothing under this key.
        case nothing
        /// Something that may be used as it is.
        case fresh
        /// Something past its time that may be used nevertheless.
        case stale
        /// Something that may be used if its origin says so.
        case validator
        /// The first part of a body.
        case part
        /// Something that may not be used.
        case useless
    }

    /// Whether the pipeline connects to an origin: ``ImagePipeline/CircuitBreaker``.
    public enum CircuitState: Sendable, Hashable {
        /// Loads connect.
        case closed
        /// No load connects until a probe is due.
        case open(after: Duration)
        /// One load connects as a probe.
        case halfOpen
    }

    public enum Kind: Sendable, Hashable {
        // MARK: Of a load

        /// It was begun.
        case asked(url: String)
        /// The picture was in memory.
        case foundInMemory
        /// It waits for what this job gives.
        case waits
        /// This job was under way for somebody else when it came.
        case joined
        /// It goes on with something else: a fallback, or its origin where what is stored is of no use.
        case goesElsewhere(why: String)
        /// What it is to be given is known.
        case finished(Outcome)
        /// It was given its ending: nothing follows.
        case delivered
        /// The queue of its callbacks has let go of its ending: nobody hears of it, and nothing follows.
        case dropped
        /// Its owner does not want it any more: nothing follows.
        case cancelled

        // MARK: Of a job

        /// It exists.
        ///
        /// - subject: the URL, and which of its processors it is.
        /// - after: the job whose result it works on.
        case made(JobKind, subject: String, after: JobNumber?)
        /// It waits for a place in a lane.
        case queued(Lane)
        /// It has a place in the lane, and works.
        case started(Lane)
        /// The highest priority of those who wait for it.
        case prioritized(LoadPriority)
        /// It waits without a place until it is tried again.
        case retries(after: Duration, why: String)
        /// What it did has changed the circuit of an origin.
        case circuitChanged(origin: String, CircuitState)
        /// Nobody waits for it any more.
        case abandoned
        /// It went well: nothing follows but what concerns the store.
        case succeeded
        /// It went badly: nothing follows.
        case failed(LoadError.Code, why: String)
        /// It never ran, or did not run at the time: nothing follows.
        case discarded
        /// Nobody waited for it, and its work has stopped: nothing follows.
        case stopped

        // MARK: Of a fetch

        case lookedUp(LookUp)
        /// An entry's body was read from the store.
        case readFromStore(bytes: Int64)
        /// A request went to a transport.
        ///
        /// - resumesAt: the first byte of the body that is asked for; 0 for all of it.
        case sent(method: String, url: String, resumesAt: Int64)
        case nameResolved
        /// - reused: whether the connection was there already.
        case connected(reused: Bool)
        /// TLS is done.
        case secured
        case firstByte
        /// The head of an answer has come.
        case answered(status: Int)
        /// So many bytes of the body are there; told about every 64 KiB, and at the exchange's end.
        case received(bytes: Int64)
        /// The exchange is over.
        ///
        /// - wireBytes: what came of the body on the wire; `nil` where the exchange broke or was given up.
        case exchangeEnded(wireBytes: Int64?)
        case redirected(to: String)
        /// What is stored still holds.
        case revalidated
        /// The rest of a body comes, behind what was there.
        case resumed(at: Int64)
        /// It is sent once more at once.
        case sentAgain(why: String)
        /// Bytes were handed to the store.
        case storing(bytes: Int64)
        /// The store has done what it was handed. May come after the job's end.
        case stored(bytes: Int64)

        // MARK: Of work on pixels

        /// It waits until others give memory back.
        case waitsForMemory(bytes: Int)
        case decoded(width: Int, height: Int)
        case processed(width: Int, height: Int)
        /// What there is of the picture was shown to those who wait.
        case previewed(detail: Int)
    }

    /// What a load is to be given.
    public enum Outcome: Sendable, Hashable {
        case success(LoadSource)
        case failure(LoadError.Code)
    }
}

extension PipelineEvent.Kind {
    /// Whether this is the one ending of a job.
    public var endsJob: Bool {
        switch self {
        case .succeeded, .failed, .discarded, .stopped: true
        default: false
        }
    }
}
