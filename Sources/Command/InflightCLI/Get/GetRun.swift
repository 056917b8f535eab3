import Dispatch
import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// One run of `inflight get`: takes lines as fast as they can be processed, until all are reported.
///
/// ``InputLines`` provides the lines. ``ItemTable`` turns each URL into one item, ``ItemDriver`` takes an item through
/// the steps of ``ItemMachine`` to its file, and ``LineReporter`` reports it to every line that requested it.
/// ``RunMachine`` decides when lines are taken and when the run ends.
///
/// Everything runs on one serial queue (``RunQueue``): the engine's callbacks, quick work on bodies, the list's bytes,
/// and progress ticks. So no locks are needed here. Slow work has threads of its own (``BodyProcessor/isSlow(_:)``).
// Unchecked: mutable state is accessed only on the queue, or before the run starts.
final class GetRun: @unchecked Sendable {
    /// The maximum number of lines taken before other blocks of the queue run.
    private static let linesAtOnce = 256

    private let options: GetOptions
    private let pipeline: ImagePipeline
    private let run: RunQueue
    private let input: InputLines
    private let items: ItemTable
    private let driver: ItemDriver
    private let reporter: LineReporter
    private let recorder: RunRecorder?
    private let recording: RunRecording?
    /// The output directory, if anything is stored.
    private let store: FileStore?
    /// The folder of the files; `nil` if nothing is stored, or if the user chose the name of the only file.
    private let folder: OutputFolder?
    /// Set when the run ends early, so that work that has not begun is skipped.
    private let cancellation = CancellationToken()
    private let onEnd: @Sendable (Int32) -> Void
    private let clock = SystemClock()
    private let start: MonotonicTime
    private var takingIsScheduled = false
    private var tick: (any ScheduledWork)?
    /// The reason why the run ends early, for the summary.
    private var interruption: String?

    init(
        _ options: GetOptions, pipeline: ImagePipeline, list descriptor: Int32?, recorder: RunRecorder? = nil,
        onEnd: @escaping @Sendable (Int32) -> Void
    ) {
        self.options = options
        self.pipeline = pipeline
        self.recorder = recorder
        self.onEnd = onEnd
        start = clock.now()
        // A second thread is worth its stack only if files are encoded. Then fewer bodies are in memory, because their
        // pixels are, too.
        let encodes = options.treatment == .reencoded
        let run = RunQueue(
            RunMachine(mostBodies: options.network.concurrency * (encodes ? 2 : 4)), threads: encodes ? 2 : 1)
        self.run = run
        recording = recorder.map { RunRecording($0) }
        reporter = LineReporter(
            isJSON: options.network.json, isOrdered: !options.isUnordered, console: ConsoleReporter(options.network),
            recording: recording)
        let output = options.discards ? nil : options.output.map { Self.place(of: $0, isOfOneURL: options.hasOneURL) }
        var refusal: LoadError?
        do throws(LoadError) {
            store = try output.map { output throws(LoadError) in try FileStore(directory: output.directory) }
        } catch {
            (store, refusal) = (nil, error)
        }
        items = ItemTable(fileName: output?.name, looksUp: options.looksUp && store != nil, reporter: reporter)
        let processor = BodyProcessor(
            options: options, pipeline: pipeline, store: store, cancellation: cancellation,
            isRecorded: recorder != nil)
        folder =
            output?.name != nil
            ? nil
            : store.map {
                OutputFolder($0, replacesAll: options.overwrites, variant: options.variant) { processor.isDamaged($0) }
            }
        driver = ItemDriver(
            options, pipeline: pipeline, run: run, items: items, reporter: reporter, recording: recording,
            processor: processor, folder: folder, refusal: refusal)
        input = InputLines(options.urls, list: descriptor, queue: run.queue) { run.eventHandled() }
        run.eventHandled = { [weak self] in self?.takeLines() }
    }

    /// Splits the path of `-o` into the folder and, if the path names a file, the file's name.
    ///
    /// The path names a file only for a single URL, if it exists and is no folder, or if it does not exist and has an
    /// extension.
    private static func place(of path: String, isOfOneURL: Bool) -> (directory: String, name: String?) {
        let (directory, name) = AtomicFile.split(path)
        let status = try? FileStatus(of: path, followsLink: true)
        let hasExtension = name.dropFirst().contains(".") && !name.hasSuffix(".")
        let isFile = status.map { !$0.isFolder } ?? hasExtension
        return isOfOneURL && isFile && !name.isEmpty ? (directory, name) : (path, nil)
    }

    // MARK: From any thread

    /// Starts the run. It calls `onEnd` with the exit status when everything is done.
    func begin() {
        run.async { [self] in
            warnOfIndex()
            if reporter.console.showsProgress { scheduleTick() }
            recorder?.whenFinished { [self] in run.queue.async { [self] in printStories() } }
        }
    }

    /// Stops the run at once and keeps finished files.
    func interrupt(status: Int32, because text: String) {
        run.async { [self] in stop(status, because: text) }
    }

    /// Prints a warning about the whole run.
    func warn(_ text: String) {
        run.queue.async { [self] in reporter.console.warn(text) }
    }

    /// Removes every incomplete file, for an exit that cannot wait for the queue.
    func removeDrafts() { store?.close() }

    // MARK: Lines

    /// Takes lines up to the limits of the run, and ends the run if nothing is left to do. Called after each event.
    private func takeLines() {
        // Each search for an earlier file reads it completely, so other blocks of the queue run between two searches.
        for _ in 0..<(options.looksUp ? 1 : Self.linesAtOnce) {
            if let status = reporter.outputLoss { stop(status, because: "Stopped") }
            guard run.machine.takesLine(unreported: items.unreported, bytes: reporter.unreportedBytes),
                let line = input.next()
            else { return endIfDone() }
            switch line {
            case .url(let text):
                if let item = items.take(text) { driver.begin(item) }
            case .invalid(let beginning, let error): reporter.refused(beginning, error)
            }
        }
        guard !takingIsScheduled else { return }
        takingIsScheduled = true
        run.async { [self] in takingIsScheduled = false }
    }

    // MARK: Ending

    private func stop(_ status: Int32, because text: String) {
        guard run.machine.stopped(status: status) else { return }
        interruption = text
        cancellation.cancel()
        input.stop()
        // In request order, so that written files get the names that they would have had.
        for item in items.inOrder { driver.runEnded(item) }
    }

    private func endIfDone() {
        let status = run.machine.eventHandled(isComplete: input.isAtEnd && items.isEmpty) {
            if input.failure != nil { return ExitStatus.noInput }
            return reporter.totals.failed > 0
                ? ExitStatus.failure : ExitStatus.success
        }
        guard let status else { return }
        tick?.cancel()
        removeDrafts()
        let console = reporter.console
        if interruption == nil, let failure = input.failure {
            console.warn("Reading the list stopped early: \(failure).")
        }
        warnOfIndex()
        console.clear()
        console.reportHiddenFailures()
        printStories()
        if status != ExitStatus.closedOutput {
            reporter.flush()
            summarize()
        }
        onEnd(status)
    }

    private func summarize() {
        // If the image goes to standard output, a failure has been printed already, and a summary adds nothing.
        guard !options.writesToStandardOutput || options.network.isVerbose || interruption != nil else { return }
        reporter.totals.requests = max(0, pipeline.statistics.exchanges - driver.localLoads)
        var summary = Summary(totals: reporter.totals, elapsed: clock.now() - start)
        summary.directory = store?.shownPath
        summary.isOfAnything = options.treatment == .anything
        summary.interruption = interruption
        summary.isUpdate = options.updates
        reporter.console.summarize(summary)
    }

    private func warnOfIndex() {
        for problem in folder?.takeProblems() ?? [] { reporter.console.warn(problem) }
    }

    private func printStories() { recording?.printStories(reporter.console) }

    // MARK: Progress

    private func scheduleTick() {
        tick = clock.schedule(at: clock.now() + .milliseconds(100)) { [weak self] in
            guard let self else { return }
            run.queue.async { [self] in
                guard run.machine.state != .ended else { return }
                reporter.console.show(progress)
                scheduleTick()
            }
        }
    }

    private var progress: ProgressLine.State {
        let totals = reporter.totals
        return ProgressLine.State(
            done: totals.done, failed: totals.failed, requested: totals.requested + input.count,
            isOpen: !input.listIsAtEnd, bytes: totals.receivedBytes + items.receivedBytes,
            elapsed: clock.now() - start)
    }
}
