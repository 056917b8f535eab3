import Dispatch
import Glibc
import Inflight
import InflightConcurrency
import InflightCore

/// One run of `inflight get`, from its list to its exit status.
///
/// A fixed number of child tasks work on the list. Each takes the next item (``nextItem()``) and runs it from its URL
/// to its report (``run(_:)``), until no line is left. ``InputLines`` provides the lines, ``ItemTable`` turns each URL
/// into one item, ``BodyProcessor`` checks and writes bodies, ``FileNaming`` decides names, and ``LineReporter``
/// reports an item to every line that requested it.
///
/// Everything runs on one serial queue (``RunExecutor``): the child tasks, the engine's callbacks, and progress ticks.
/// So no locks are needed here. Slow work has threads of its own (``BodyProcessor/isSlow(_:)``).
// Unchecked: mutable state is accessed only on the executor, or before the run starts.
final class GetRun: @unchecked Sendable {
    /// The maximum number of lines taken before other blocks of the queue run.
    private static let linesAtOnce = 256
    /// The maximum number of lines not reported yet, such as those that wait for a file name or for earlier lines.
    private static let mostUnreported = 4096
    /// The maximum number of bytes of memory for their URLs and their lines of JSON.
    private static let mostUnreportedBytes = 8 << 20

    private let options: GetOptions
    private let pipeline: ImagePipeline
    private let executor = RunExecutor()
    private let workers: WorkerThreads
    /// The number of items that are being fetched, or whose body is in memory, at most.
    private let mostBodies: Int
    private let input: InputLines
    private let items: ItemTable
    private let requests: RequestFactory
    private let processor: BodyProcessor
    private let reporter: LineReporter
    private let recorder: RunRecorder?
    private let recording: RunRecording?
    /// The output directory, if anything is stored.
    private let store: FileStore?
    /// The folder of the files; `nil` if nothing is stored, or if the user chose the name of the only file.
    private let folder: OutputFolder?
    /// The error that applies to every item because the output directory cannot be used.
    private let refusal: LoadError?
    private var naming: FileNaming
    private var previewNames = PreviewNames()
    /// Set when the run ends early, so that work that has not begun is skipped.
    private let cancellation = CancellationToken()
    private let clock = SystemClock()
    private let start: MonotonicTime
    private var tick: (any ScheduledWork)?
    /// The reason why the run ends early, and its exit status.
    private var earlyEnd: (status: Int32, reason: String)?
    /// The number of loads that need no request.
    private var localLoads = 0
    /// The number of lines taken.
    private var takenLines = 0
    /// Whether a child is taking a line, and the children that wait for their turn.
    private var isTaking = false
    private var waitingForTurn: [RunExecutor.Pause<Void>] = []
    /// The pause of the child that is taking a line, until it may find one.
    private var waitingForLine: RunExecutor.Pause<Void>?

    private var console: ConsoleReporter { reporter.console }
    private var isRunning: Bool { earlyEnd == nil }

    init(_ options: GetOptions, pipeline: ImagePipeline, list descriptor: Int32?, recorder: RunRecorder? = nil) {
        self.options = options
        self.pipeline = pipeline
        self.recorder = recorder
        start = clock.now()
        // A second thread is worth its stack only if files are encoded. Then fewer bodies are in memory, because their
        // pixels are, too.
        let encodes = options.treatment == .reencoded
        workers = WorkerThreads(count: encodes ? 2 : 1, name: "inflight-files")
        mostBodies = options.network.concurrency * (encodes ? 2 : 4)
        recording = recorder.map { RunRecording($0) }
        reporter = LineReporter(
            isJSON: options.network.json, isOrdered: !options.isUnordered, console: ConsoleReporter(options.network),
            recording: recording)
        let output = options.discards ? nil : options.output.map { Self.place(of: $0, isOfOneURL: options.hasOneURL) }
        do throws(LoadError) {
            store = try output.map { output throws(LoadError) in try FileStore(directory: output.directory) }
            refusal = nil
        } catch {
            (store, refusal) = (nil, error)
        }
        items = ItemTable(fileName: output?.name, reporter: reporter)
        requests = RequestFactory(options)
        let processor = BodyProcessor(
            options: options, pipeline: pipeline, store: store, cancellation: cancellation,
            isRecorded: recorder != nil)
        self.processor = processor
        folder =
            output?.name != nil
            ? nil
            : store.map {
                OutputFolder($0, replacesAll: options.overwrites, variant: options.variant) { processor.isDamaged($0) }
            }
        naming = FileNaming(options, folder)
        input = InputLines(options.urls, list: descriptor, queue: executor.queue)
        input.whenReadable { [weak self] in self?.lineMayFollow() }
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

    /// Starts the run, and calls `onEnd` with its exit status when everything is done.
    func begin(_ onEnd: @escaping @Sendable (Int32) async -> Void) {
        // The task and its children run on the executor.
        Task(executorPreference: executor) { await onEnd(await self.run()) }
    }

    /// Stops the run at once and keeps finished files.
    func interrupt(status: Int32, because text: String) {
        executor.queue.async { [self] in stop(status, because: text) }
    }

    /// Prints a warning about the whole run.
    func warn(_ text: String) {
        executor.queue.async { [self] in console.warn(text) }
    }

    /// Removes every incomplete file, for an exit that cannot wait for the queue.
    func removeDrafts() { store?.close() }

    // MARK: The run

    private func run() async -> Int32 {
        warnOfIndex()
        if console.showsProgress { scheduleTick() }
        recorder?.whenFinished { [self] in executor.queue.async { [self] in printStories() } }
        let children = options.list == nil ? min(mostBodies, options.urls.count) : mostBodies
        await withDiscardingTaskGroup { group in
            for _ in 0..<children { group.addTask { await self.work() } }
        }
        nameFiles()
        return end()
    }

    /// Takes and runs items, one after the other, until no line is left or the run ends early.
    private nonisolated(nonsending) func work() async {
        while let item = await nextItem() {
            await run(item)
            lineMayFollow()
            if item.thumbnailSubject != nil { await makeThumbnail(of: item) }
        }
    }

    // MARK: Lines

    /// Takes lines until one begins an item, and looks for the item's file of an earlier run. One child does so at a
    /// time, so that items begin in the order of their lines.
    ///
    /// - Returns: The item; `nil` if no line is left, or if the run ends early.
    private nonisolated(nonsending) func nextItem() async -> ListItem? {
        await takeTurn()
        defer { passTurn() }
        while true {
            // Each search for an earlier file reads it completely, so other blocks of the queue run between two.
            if options.looksUp || (takenLines + 1).isMultiple(of: Self.linesAtOnce) { await executor.yield() }
            stopIfOutputIsLost()
            guard isRunning else { return nil }
            guard items.unreported < Self.mostUnreported, reporter.unreportedBytes < Self.mostUnreportedBytes,
                let line = input.next()
            else {
                if input.isAtEnd { return nil }
                await executor.pause { waitingForLine = $0 }
                continue
            }
            takenLines += 1
            switch line {
            case .invalid(let beginning, let error): reporter.refused(beginning, error)
            case .url(let text):
                guard let item = items.take(text) else { continue }
                if store != nil { naming.requested(item) }
                if options.looksUp { item.earlier = earlierFile(of: item) }
                return item
            }
        }
    }

    private nonisolated(nonsending) func takeTurn() async {
        guard isTaking else {
            isTaking = true
            return
        }
        await executor.pause { waitingForTurn.append($0) }
    }

    private func passTurn() {
        if waitingForTurn.isEmpty {
            isTaking = false
        } else {
            waitingForTurn.removeFirst().end()
        }
    }

    /// The list is readable, lines were reported, or the run ends early.
    private func lineMayFollow() { waitingForLine.take()?.end() }

    /// Returns the file of an earlier run, if it is complete.
    private func earlierFile(of item: ListItem) -> ListItem.EarlierFile? {
        let record = folder?.current(of: item.indexKey)
        let name = record?.name ?? (folder == nil ? item.suggested.chosenName : nil)
        return name.flatMap { processor.existing($0) }.map { ListItem.EarlierFile($0, record) }
    }

    // MARK: From a URL to its report

    /// Runs an item: keeps the file of an earlier run, or loads the URL, checks and writes the body, and names the
    /// file. Every way ends with the item's report, unless the run ends first.
    private nonisolated(nonsending) func run(_ item: ListItem) async {
        if let refusal { return end(item, .failure(refusal)) }
        if let earlier = item.earlier, !options.updates {
            console.tell(item.text, "skipped: \(path(of: earlier)) already exists")
            return keep(earlier, Report(outcome: .skipped), of: item)
        }
        guard isRunning else { return abandon(item) }

        var result = await load(item, ifChangedFrom: item.earlier?.record?.validator)
        if item.isConditional, let earlier = item.earlier {
            switch result.refusedStatus {
            case .some(304):
                console.tell(item.text, "304, unchanged: \(earlier.file.name) is kept")
                return keep(earlier, Report(outcome: .skipped, status: 304, from: .network), of: item)
            // A conditional request follows no redirect, so the whole image is requested.
            case .some(300..<400): result = await load(item, ifChangedFrom: nil)
            default: break
            }
        }
        for preview in item.unfinishedPreviews { await preview.value }
        let loaded: BodyProcessor.Loaded
        switch consume result {
        case .success(let value): loaded = value
        case .failure(let error): return fail(item, error)
        }

        let (url, earlierName) = (item.url, item.earlier?.file.name)
        let process = { @Sendable [processor] in
            Result { () throws(LoadError) in try processor.process(loaded, of: url, current: earlierName) }
        }
        switch processor.isSlow(loaded) ? await onWorker(process) : process() {
        case .success(let body): finish(item, body)
        case .failure(let error): fail(item, error)
        }
    }

    private typealias LoadResult = Result<BodyProcessor.Loaded, LoadError>

    /// Loads the URL of an item. The end of the run cancels the load.
    ///
    /// - Parameter validator: The validator of an image that is loaded only if it has changed.
    private nonisolated(nonsending) func load(
        _ item: ListItem, ifChangedFrom validator: Validator?
    ) async -> LoadResult {
        await executor.pause { pause in
            item.load = ListItem.Load(task: start(item, ifChangedFrom: validator), pause: pause)
        }
    }

    private func start(_ item: ListItem, ifChangedFrom validator: Validator?) -> ImageTask {
        var request = requests.request(item.text, item.url)
        let conditional = validator.flatMap { RequestFactory.conditional(request, $0) }
        item.isConditional = conditional != nil
        if let conditional { request = conditional }
        item.startedAt = clock.now()
        if item.url.origin == nil { localLoads += 1 }
        console.tell(item.text, item.isConditional ? "requested if changed" : "requested")
        var progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)?
        if console.showsProgress { progress = { _, value in item.receivedBytes = value.receivedBytes } }
        var preview: (@Sendable (ImageTask, ImagePreview) -> Void)?
        if options.showsPreviews { preview = { [self] _, preview in received(preview, of: item) } }
        let queue = CallbackQueue.queue(executor.queue)
        let task =
            if options.treatment == .reencoded {
                pipeline.load(request, on: queue, progress: progress, preview: preview) { [executor] _, result in
                    executor.handle { item.endLoad(result.map { .image($0) }) }
                }
            } else {
                pipeline.loadResponse(request, on: queue, progress: progress, preview: preview) {
                    [executor] _, result in
                    executor.handle { item.endLoad(result.map { .response($0) }) }
                }
            }
        recording?.began(item, task.number)
        return task
    }

    /// Runs work that blocks or computes on a worker thread.
    private nonisolated(nonsending) func onWorker<Value: Sendable>(
        _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        await ValueBridge.value { bridge in
            workers.run { bridge.open(with: work()) }
        }
    }

    // MARK: Endings

    /// Reports an item whose body was checked, after its file, if it has one, was named.
    private func finish(_ item: ListItem, _ body: BodyProcessor.ProcessedBody) {
        recording?.processed(item, body.work)
        if body.report.outcome == .skipped, let earlier = item.earlier {
            console.tell(item.text, "unchanged: \(earlier.file.name) is kept")
            if let record = earlier.record { folder?.confirm(record, body.validator) }
            return keep(earlier, body.report, of: item)
        }
        item.thumbnailSubject = body.subject
        if let draft = body.draft {
            name(item, .stored(body, draft))
        } else {
            reporter.totals.storedBytes += body.writtenBytes
            end(item, body.report)
        }
    }

    /// Reports an item whose file of an earlier run is kept.
    private func keep(_ earlier: ListItem.EarlierFile, _ report: Report, of item: ListItem) {
        item.thumbnailSubject = earlier.file.subject
        var report = report
        if reporter.showsDetails { report.file = path(of: earlier) }
        report.picture = earlier.file.picture
        report.previews = item.previews
        name(item, .existing)
        items.ended(item, report)
    }

    /// Reports an item without a file, by choice or because of a failure.
    private func end(_ item: ListItem, _ report: Report) {
        name(item, .failed)
        items.ended(item, report)
    }

    /// Reports an item that has failed, unless the reason is the end of the run.
    private func fail(_ item: ListItem, _ error: LoadError) {
        if error.code == .outputClosed { reporter.outputClosed() }
        if error.code == .outputClosed || (error.code == .cancelled && !isRunning) {
            abandon(item)
        } else {
            end(item, .failure(error))
        }
    }

    /// The run ends before an item, which is not reported.
    private func abandon(_ item: ListItem) {
        name(item, .failed)
        items.abandoned(item)
    }

    /// The name of an item's file is needed, or will not be. A name may depend on earlier items.
    private func name(_ item: ListItem, _ ending: FileNaming.Ending) {
        guard store != nil, naming.ended(item, ending) else { return }
        // Blocks that wait in the queue may end further items. Naming several files locks and writes the index once.
        executor.queue.async { [self] in executor.handle { nameFiles() } }
    }

    /// Publishes and reports the files whose names are decided now.
    private func nameFiles() {
        // If no file may get its name, the folder's index is neither locked nor created.
        let reports = naming.hasFiles ? exclusively { publish(naming.decide()) } : publish(naming.decide())
        // After the folder was unlocked, because standard output may block.
        for (item, report) in reports { items.ended(item, report) }
        stopIfOutputIsLost()
        lineMayFollow()
    }

    /// Calls `body` while no other run changes the output folder.
    private func exclusively<Value>(_ body: () -> Value) -> Value { folder?.exclusively(body) ?? body() }

    private func publish(_ files: [FileNaming.NamedFile]) -> [(ListItem, Report)] {
        var reports: [(ListItem, Report)] = []
        var files = files
        while !files.isEmpty {
            var taken: [FileNaming.NamedFile] = []
            for (file, result) in zip(files, publish(files.map(\.recorded))) {
                switch result {
                case .success(true): reports.append((file.item, report(file)))
                case .success(false): taken.append(naming.renamed(file))
                case .failure(let error): reports.append((file.item, .failure(error)))
                }
            }
            files = taken
        }
        return reports
    }

    /// - Returns: For each file, whether it got its name (``OutputFolder/publish(_:)``).
    private func publish(_ files: [OutputFolder.NewFile]) -> [Result<Bool, LoadError>] {
        folder?.publish(files)
            ?? files.map { file in
                Result { () throws(LoadError) in
                    try store?.publish(file.draft, as: file.name)
                    return true
                }
            }
    }

    private func report(_ file: FileNaming.NamedFile) -> Report {
        var report = file.body.report
        if reporter.showsDetails { report.file = store?.path(of: file.name) }
        report.previews = file.item.previews
        reporter.totals.storedFiles += 1
        reporter.totals.storedBytes += file.body.writtenBytes
        return report
    }

    private func path(of earlier: ListItem.EarlierFile) -> String {
        store?.path(of: earlier.file.name) ?? earlier.file.name
    }

    /// Makes a thumbnail for the report after the item was reported, so that no load's duration includes it. Meanwhile
    /// its memory counts like the body of a load.
    private nonisolated(nonsending) func makeThumbnail(of item: ListItem) async {
        guard let subject = item.thumbnailSubject, isRunning, let recording,
            recording.takesThumbnail(of: subject)
        else { return }
        let renderer = processor.thumbnails
        recording.madeThumbnail(await onWorker { renderer.thumbnail(of: subject) }, of: item)
    }

    // MARK: Previews

    /// Stores a progressive preview beside the image. Its file appears complete, as soon as it is written.
    private func received(_ preview: ImagePreview, of item: ListItem) {
        guard isRunning, let store else { return }
        let key = item.indexKey(ofPreview: item.previews.count + 1)
        let own = folder?.ownName(of: key, fileExtension: "png")
        let name = own ?? previewNames.next(of: item) { folder?.isTaken($0) ?? false }
        let path = store.path(of: name)
        item.previews.append(path)
        console.tell(item.text, "preview after \(preview.receivedBytes) bytes: \(path)")
        item.unfinishedPreviews.append(
            Task(executorPreference: executor) { [self, codecs = pipeline.codecs] in
                let draft = await onWorker {
                    Result { () throws(LoadError) in
                        try store.draft(try codecs.encode(preview.pixels, options: EncodeOptions(format: .png)))
                    }
                }
                do throws(LoadError) {
                    let file = OutputFolder.NewFile(
                        draft: try draft.get(), name: name, key: key, fileExtension: "png", validator: nil,
                        isOwn: own != nil)
                    if try exclusively({ publish([file])[0] }).get() { return }
                    store.discard(file.draft)
                    console.warn("Another program has created \(path). The preview is not stored.")
                } catch {
                    console.warn(error.message)
                }
            })
    }

    // MARK: Ending

    private func stop(_ status: Int32, because reason: String) {
        guard isRunning else { return }
        earlyEnd = (status, reason)
        cancellation.cancel()
        input.stop()
        lineMayFollow()
        // In request order, so that written files get the names that they would have had.
        for item in items.inOrder { item.cancelLoad() }
    }

    private func stopIfOutputIsLost() {
        if let status = reporter.outputLoss { stop(status, because: "Stopped") }
    }

    /// - Returns: The exit status.
    private func end() -> Int32 {
        tick?.cancel()
        tick = nil
        removeDrafts()
        if isRunning, let failure = input.failure { console.warn("Reading the list stopped early: \(failure).") }
        warnOfIndex()
        console.clear()
        console.reportHiddenFailures()
        printStories()
        let status =
            if let earlyEnd {
                earlyEnd.status
            } else if input.failure != nil {
                ExitStatus.noInput
            } else {
                reporter.totals.failed > 0 ? ExitStatus.failure : ExitStatus.success
            }
        if status != ExitStatus.closedOutput {
            reporter.flush()
            summarize()
        }
        return status
    }

    private func summarize() {
        // If the image goes to standard output, a failure has been printed already, and a summary adds nothing.
        guard !options.writesToStandardOutput || options.network.isVerbose || earlyEnd != nil else { return }
        reporter.totals.requests = max(0, pipeline.statistics.exchanges - localLoads)
        var summary = Summary(totals: reporter.totals, elapsed: clock.now() - start)
        summary.directory = store?.shownPath
        summary.isOfAnything = options.treatment == .anything
        summary.interruption = earlyEnd?.reason
        summary.isUpdate = options.updates
        console.summarize(summary)
    }

    private func warnOfIndex() {
        for problem in folder?.takeProblems() ?? [] { console.warn(problem) }
    }

    private func printStories() { recording?.printStories(console) }

    // MARK: Progress

    private func scheduleTick() {
        tick = clock.schedule(at: clock.now() + .milliseconds(100)) { [weak self] in
            guard let self else { return }
            executor.queue.async { [self] in
                guard tick != nil else { return }
                console.show(progress)
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

extension Result<BodyProcessor.Loaded, LoadError> {
    /// The status of a response that is not the requested image.
    fileprivate var refusedStatus: Int? {
        if case .failure(let error) = self, error.code == .badStatus { error.status } else { nil }
    }
}
