import Dispatch
import Inflight
import InflightConcurrency
import InflightCore

/// One `inflight get`: takes URLs as fast as they can be worked on, hands them to the engine, and reports.
///
/// Everything happens on `queue`, a serial one: the engine's callbacks, quick work on bodies, the list's bytes, and the
/// ticks of the progress line. So nothing here needs a lock. Slow work has threads of its own (``PictureWork/isSlow(_:)``).
// Unchecked: everything mutable is touched on `queue` alone, or before the run is started.
final class GetRun: @unchecked Sendable {
    /// Lines that are asked for and not told yet: files that wait for a name, lines that wait for an earlier one.
    static let mostOutstanding = 4096
    /// What the URLs and lines of those may take in memory.
    static let mostOutstandingBytes = 8 << 20
    /// Lines that are taken before others get their turn on the queue.
    static let linesAtOnce = 256

    let options: GetOptions
    let queue = DispatchQueue(label: "inflight.get")
    let pipeline: ImagePipeline
    let workers: WorkerThreads
    let narrator: Narrator
    let reporter: Reporter
    /// Listens, where somebody wants to know afterwards.
    let recorder: RunRecorder?
    /// `nil`: nothing is stored. A failure is that of every URL.
    let store: Result<FileStore, LoadError>?
    let work: PictureWork
    let requests: RequestMaker
    let clock = SystemClock()
    /// Work that has not begun when the run ends early is left.
    let cancellation = CancellationFlag()
    let onEnd: @Sendable (Int32) -> Void

    var arguments: ArraySlice<String>
    var list: ListSource?
    /// What is on its way, by what is asked for.
    var live: [String: ListItem] = [:]
    /// Those whose file waits for earlier items to get their names.
    var unnamed: [Int: ListItem] = [:]
    var nextID = 0
    /// Items whose body is being fetched, or is in memory.
    var loading = 0
    /// Jobs of the working threads that are not back.
    var pendingWork = 0
    var thumbnails = ThumbnailBudget()
    var memory = LongMemory()
    var names: NameBook
    /// What the names of previews begin with, which no two pictures share.
    var previewStems: Set<String> = []
    var pumpIsScheduled = false
    var timer: (any ScheduledWork)?
    var isEnding = false
    /// Whether anything shows more of an item than the totals.
    let tellsDetails: Bool
    var hasEnded = false
    var endStatus: Int32?
    var interruption: String?
    var localLoads = 0
    let start: MonotonicTime

    init(
        _ options: GetOptions, pipeline: ImagePipeline, list descriptor: Int32?, recorder: RunRecorder? = nil,
        onEnd: @escaping @Sendable (Int32) -> Void
    ) {
        self.options = options
        self.pipeline = pipeline
        self.recorder = recorder
        self.onEnd = onEnd
        // A second one is worth its stack only where files are encoded.
        workers = WorkerThreads(count: options.treatment == .remade ? 2 : 1, name: "inflight-files")
        narrator = Narrator(options.network)
        tellsDetails = options.network.json || recorder != nil
        reporter = Reporter(isJSON: options.network.json, isOrdered: !options.isUnordered, narrator: narrator)
        arguments = options.urls[...]
        names = NameBook(memory: LongMemory())
        requests = RequestMaker(options)
        if let directory = options.directory, !options.discards {
            store = Result { () throws(LoadError) in try FileStore(directory: directory) }
        } else {
            store = nil
        }
        work = PictureWork(
            options: options, codecs: pipeline.codecs, store: try? store?.get(), cancellation: cancellation)
        start = clock.now()
        if let descriptor {
            list = ListSource(descriptor: descriptor, queue: queue) { [unowned self] in pump() }
        }
    }

    /// Begins. `onEnd` is called with the exit status when all is done.
    func begin() {
        queue.async { [self] in
            if narrator.showsProgress { startTicking() }
            recorder?.whenFinished { [self] in queue.async { [self] in tellStories() } }
            pump()
        }
    }

    /// Stops at once, keeping what is finished. Any thread.
    func interrupt(status: Int32, because text: String) {
        queue.async { [self] in
            interruption = text
            endEarly(status: status)
        }
    }

    /// Something that the whole run should know of. Any thread.
    func warn(_ text: String) {
        queue.async { [self] in narrator.warn(text) }
    }

    /// Removes every file that is not whole: for an end that cannot wait for the queue. Any thread.
    func removeDrafts() {
        try? store?.get().close()
    }

    /// Does something that blocks or computes on a thread of its own, and comes back to the queue with what it gave.
    func onWorker<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value, then: @escaping @Sendable (Value) -> Void
    ) {
        pendingWork += 1
        workers.run { [self] in
            let value = body()
            queue.async { [self] in
                pendingWork -= 1
                then(value)
                if isEnding { endIfQuiet() } else { endIfDone() }
            }
        }
    }
}
