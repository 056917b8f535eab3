import Dispatch
import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// One run of `inflight get`: takes URLs as fast as they can be processed, submits them to the engine, and reports.
///
/// Everything runs on `queue`, a serial one: the engine's callbacks, quick work on bodies, the list's bytes, and
/// progress ticks. So no locks are needed here. Slow work has threads of its own (``BodyProcessor/isSlow(_:)``).
// Unchecked: mutable state is accessed only on `queue`, or before the run starts.
final class GetRun: @unchecked Sendable {
    /// The maximum number of lines not reported yet, such as those that wait for a file name or for earlier lines.
    static let mostOutstanding = 4096
    /// The maximum number of bytes of memory for their URLs and their lines of JSON.
    static let mostOutstandingBytes = 8 << 20
    /// The maximum number of lines taken before other blocks of the queue run.
    static let linesAtOnce = 256

    let options: GetOptions
    let queue = DispatchQueue(label: "inflight.get")
    let pipeline: ImagePipeline
    let workers: WorkerThreads
    let console: ConsoleReporter
    let reporter: Reporter
    /// The observer of the run, if it is recorded.
    let recorder: RunRecorder?
    /// The output directory; if `nil`, nothing is stored. A failure applies to every URL.
    let store: Result<FileStore, LoadError>?
    /// The name of the only file, if `-o` names one.
    let fileName: String?
    let work: BodyProcessor
    let requests: RequestFactory
    let clock = SystemClock()
    /// Set when the run ends early, so that work that has not begun is skipped.
    let cancellation = CancellationFlag()
    let onEnd: @Sendable (Int32) -> Void

    var arguments: ArraySlice<String>
    var list: ListSource?
    /// The items in flight, by key.
    var live: [String: ListItem] = [:]
    /// The items with a written file whose name depends on earlier items.
    var unnamed: [Int: ListItem] = [:]
    var nextID = 0
    /// The number of items whose body is being fetched or is in memory.
    var loading = 0
    /// The number of unfinished jobs of the worker threads.
    var pendingWork = 0
    var thumbnails = ThumbnailBudget()
    var memory = SpillingMap()
    var names = OutputNameAllocator(memory: SpillingMap())
    /// The beginnings of preview names, each used by one image only.
    var previewStems: Set<String> = []
    var pumpIsScheduled = false
    var timer: (any ScheduledWork)?
    var isEnding = false
    /// Whether any output shows more of an item than the totals.
    let reportsDetails: Bool
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
        // A second thread is worth its stack only if files are encoded.
        workers = WorkerThreads(count: options.treatment == .reencoded ? 2 : 1, name: "inflight-files")
        console = ConsoleReporter(options.network)
        reportsDetails = options.network.json || recorder != nil
        reporter = Reporter(isJSON: options.network.json, isOrdered: !options.isUnordered, console: console)
        arguments = options.urls[...]
        requests = RequestFactory(options)
        let place = options.discards ? nil : options.output.map { Self.place(of: $0, isOfOneURL: options.hasOneURL) }
        fileName = place?.name
        store = place.map { place in Result { () throws(LoadError) in try FileStore(directory: place.directory) } }
        work = BodyProcessor(
            options: options, codecs: pipeline.codecs, store: try? store?.get(), cancellation: cancellation,
            isRecorded: recorder != nil)
        start = clock.now()
        if let descriptor {
            list = ListSource(descriptor: descriptor, queue: queue) { [unowned self] in pump() }
        }
    }

    /// Splits the path of `-o` into the folder and, if the path names a file, the file's name.
    ///
    /// The path names a file only for a single URL, if it exists and is no folder, or if it does not exist and has an
    /// extension.
    private static func place(of path: String, isOfOneURL: Bool) -> (directory: String, name: String?) {
        let (directory, name) = AtomicFile.split(path)
        var status = stat()
        let exists = unsafe stat(path, &status) == 0
        let hasExtension = name.dropFirst().contains(".") && !name.hasSuffix(".")
        let isFile = exists ? status.st_mode & S_IFMT != S_IFDIR : hasExtension
        return isOfOneURL && isFile && !name.isEmpty ? (directory, name) : (path, nil)
    }

    /// Starts the run. It calls `onEnd` with the exit status when everything is done.
    func begin() {
        queue.async { [self] in
            if console.showsProgress { startTicking() }
            recorder?.whenFinished { [self] in queue.async { [self] in printLoadTexts() } }
            pump()
        }
    }

    /// Stops the run at once and keeps finished files. May be called from any thread.
    func interrupt(status: Int32, because text: String) {
        queue.async { [self] in
            interruption = text
            endEarly(status: status)
        }
    }

    /// Prints a warning about the whole run. May be called from any thread.
    func warn(_ text: String) {
        queue.async { [self] in console.warn(text) }
    }

    /// Removes every incomplete file, for an exit that cannot wait for the queue. May be called from any thread.
    func removeDrafts() {
        try? store?.get().close()
    }

    /// Runs blocking or computing work on a worker thread, and passes its result to `then` on the queue.
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
