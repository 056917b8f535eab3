import Inflight
import InflightConcurrency
import InflightCore

/// Performs the steps of each item that ``ItemMachine`` decides: looks for the file of an earlier run, loads the URL,
/// has the body processed, and names the file.
// Unchecked: mutable state is accessed only on the run's queue.
final class ItemDriver: @unchecked Sendable {
    typealias Machine = ItemMachine<ImageTask, BodyProcessor.ProcessedBody>

    private let options: GetOptions
    private let pipeline: ImagePipeline
    private let run: RunQueue
    private let items: ItemTable
    private let reporter: LineReporter
    private let recording: RunRecording?
    private let processor: BodyProcessor
    /// The error that applies to every item because the output directory cannot be used.
    private let refusal: LoadError?
    private let requests: RequestFactory
    private let clock = SystemClock()
    /// The folder of the files; `nil` if there is none, or if the user chose the name of the only file.
    private let folder: OutputFolder?
    private var naming: FileNaming
    private var previewNames = PreviewNames()
    /// The number of loads that need no request.
    private(set) var localLoads = 0

    init(
        _ options: GetOptions, pipeline: ImagePipeline, run: RunQueue, items: ItemTable, reporter: LineReporter,
        recording: RunRecording?, processor: BodyProcessor, folder: OutputFolder?, refusal: LoadError?
    ) {
        self.options = options
        self.pipeline = pipeline
        self.run = run
        self.items = items
        self.reporter = reporter
        self.recording = recording
        self.processor = processor
        self.refusal = refusal
        requests = RequestFactory(options)
        self.folder = folder
        naming = FileNaming(options, folder)
    }

    private var console: ConsoleReporter { reporter.console }

    /// Applies an event and returns the next step.
    private func take(_ event: Machine.Event, _ item: ListItem) -> Machine.Step {
        let wasLoading = item.machine.isLoading
        let step = item.machine.take(event)
        if wasLoading && !item.machine.isLoading { run.machine.bodyEnded() }
        return step
    }

    // MARK: Before the load

    func begin(_ item: ListItem) {
        run.machine.bodyBegan()
        if let refusal {
            if case .report = take(.refused, item) { items.ended(item, .failure(refusal)) }
            return
        }
        guard let store = processor.store else { return load(item) }
        naming.requested(item)
        if options.looksUp { lookUp(item, store) } else { load(item) }
    }

    /// Looks for the file of an earlier run.
    private func lookUp(_ item: ListItem, _ store: FileStore) {
        let record = folder?.current(of: item.indexKey)
        let name = record?.name ?? (folder == nil ? item.suggested.chosenName : nil)
        let found = name.flatMap { processor.existing($0) }
        if options.updates {
            item.current = found.map { ListItem.Current(file: $0, record: record) }
            _ = take(.lookedUp(isFound: false), item)
            return load(item)
        }
        guard case .skip = take(.lookedUp(isFound: found != nil), item), let found else { return load(item) }
        console.tell(item.text, "skipped: \(store.path(of: found.name)) already exists")
        keep(found, Report(outcome: .skipped), of: item)
    }

    /// Reports an item whose file of an earlier run is kept.
    private func keep(_ found: BodyProcessor.Existing, _ report: Report, of item: ListItem) {
        var report = report
        if reporter.showsDetails { report.file = processor.store?.path(of: found.name) }
        report.picture = found.picture
        report.previews = item.previews
        name(item, .existing)
        items.ended(item, report)
        show(found.subject, of: item)
    }

    // MARK: The load

    private func load(_ item: ListItem) {
        var request = requests.request(item.text, item.url)
        if item.isConditional {
            // The server has redirected the conditional request, and is asked for the whole image now.
            item.isConditional = false
        } else if let validator = item.current?.record?.validator,
            let conditional = RequestFactory.conditional(request, validator)
        {
            request = conditional
            item.isConditional = true
        }
        item.startedAt = clock.now()
        if item.url.origin == nil { localLoads += 1 }
        console.tell(item.text, item.isConditional ? "requested if changed" : "requested")
        var progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)?
        if console.showsProgress { progress = { _, value in item.receivedBytes = value.receivedBytes } }
        var preview: (@Sendable (ImageTask, ImagePreview) -> Void)?
        if options.showsPreviews { preview = { [self] _, preview in store(preview, of: item) } }
        let task: ImageTask
        if options.treatment == .reencoded {
            task = pipeline.load(request, on: .queue(run.queue), progress: progress, preview: preview) {
                [self] _, result in
                loaded(item, result.map { .image($0) })
            }
        } else {
            task = pipeline.loadResponse(request, on: .queue(run.queue), progress: progress, preview: preview) {
                [self] _, result in
                loaded(item, result.map { .response($0) })
            }
        }
        _ = take(.loadBegan(task), item)
        recording?.began(item, task.number)
    }

    /// Stores a progressive preview beside the image. Its file appears complete, as soon as it is written.
    private func store(_ preview: ImagePreview, of item: ListItem) {
        guard run.machine.isRunning, let store = processor.store else { return }
        let key = item.indexKey(ofPreview: item.previews.count + 1)
        let own = folder?.ownName(of: key, fileExtension: "png")
        let name = own ?? previewNames.next(of: item) { folder?.isTaken($0) ?? false }
        let path = store.path(of: name)
        item.previews.append(path)
        console.tell(item.text, "preview after \(preview.receivedBytes) bytes: \(path)")
        run.onWorker { [codecs = pipeline.codecs] in
            Result { () throws(LoadError) in
                try store.draft(try codecs.encode(preview.pixels, options: EncodeOptions(format: .png)))
            }
        } then: { [self] result in
            do throws(LoadError) {
                let draft = try result.get()
                guard try !publish(draft, as: name, of: key, "png", nil, isOwn: own != nil) else { return }
                store.discard(draft)
                console.warn("Another program has created \(path). The preview is not stored.")
            } catch {
                console.warn(error.message)
            }
        }
    }

    // MARK: The body

    /// The engine has finished. The body is processed here, or on a worker thread if that takes long.
    private func loaded(_ item: ListItem, _ result: Result<BodyProcessor.Loaded, LoadError>) {
        switch result {
        case .failure(let error) where item.isConditional && error.code == .badStatus && error.status == 304:
            guard case .skip = take(.confirmed, item), let current = item.current else { return }
            console.tell(item.text, "304, unchanged: \(current.file.name) is kept")
            keep(current.file, Report(outcome: .skipped, status: 304, from: .network), of: item)
        case .failure(let error)
        where item.isConditional && error.code == .badStatus && (300..<400).contains(error.status ?? 0):
            if case .load = take(.redirected, item) { load(item) }
        case .failure(let error):
            if case .report = take(.loaded(isSuccess: false), item) { end(item, .failure(error)) }
        case .success(let body):
            guard case .make = take(.loaded(isSuccess: true), item) else { return }
            let current = item.current?.file.name
            let process = { @Sendable [processor] in
                Result { () throws(LoadError) in try processor.process(body, of: item.url, current: current) }
            }
            if processor.isSlow(body) {
                run.onWorker(process) { [self] in processed(item, $0) }
            } else {
                processed(item, process())
            }
        }
        run.eventHandled()
    }

    private func processed(_ item: ListItem, _ result: Result<BodyProcessor.ProcessedBody, LoadError>) {
        switch result {
        case .failure(let error)
        where error.code == .outputClosed || (error.code == .cancelled && !run.machine.isRunning):
            if error.code == .outputClosed { reporter.outputClosed() }
            if case .abandon = take(.makingCancelled, item) { abandon(item) }
        case .failure(let error):
            if case .report = take(.made(nil), item) { end(item, .failure(error)) }
        case .success(let body):
            recording?.processed(item, body.work)
            if case .name = take(.made(body.draft == nil ? nil : body), item) {
                name(item, .stored(body.kind))
            } else if body.report.outcome == .skipped, let current = item.current {
                console.tell(item.text, "unchanged: \(current.file.name) is kept")
                if let record = current.record { folder?.confirm(record, body.validator) }
                return keep(current.file, body.report, of: item)
            } else {
                reporter.totals.storedBytes += body.writtenBytes
                end(item, body.report)
            }
            show(body.subject, of: item)
        }
    }

    private func show(_ subject: ThumbnailSubject?, of item: ListItem) {
        if let recording, let subject { recording.show(subject, of: item, processor.thumbnails, on: run) }
    }

    // MARK: The file

    /// An item's file was written, or will not be. Publishes the files whose names are decided now.
    private func name(_ item: ListItem, _ ending: FileNaming.Ending) {
        for (named, name) in naming.ended(item, ending) {
            if case .publish(let body) = take(.named, named) { publish(body, as: name, named) }
        }
    }

    private func publish(_ body: BodyProcessor.ProcessedBody, as name: String, _ item: ListItem) {
        guard let draft = body.draft, let store = processor.store else { return }
        var name = name
        let fileExtension = item.suggested.parts(for: body.kind).fileExtension
        do throws(LoadError) {
            while try !publish(
                draft, as: name, of: item.indexKey, fileExtension, body.validator, isOwn: name == item.ownName)
            {
                name = naming.another(for: item, body.kind)
            }
        } catch {
            return items.ended(item, .failure(error))
        }
        var report = body.report
        if reporter.showsDetails { report.file = store.path(of: name) }
        report.previews = item.previews
        reporter.totals.storedFiles += 1
        reporter.totals.storedBytes += body.writtenBytes
        items.ended(item, report)
    }

    /// - Returns: Whether the draft got the name (``OutputFolder/publish(_:as:of:fileExtension:validator:isOwn:)``).
    private func publish(
        _ draft: FileStore.Draft, as name: String, of key: @autoclosure () -> String, _ fileExtension: String?,
        _ validator: Validator?, isOwn: Bool
    ) throws(LoadError) -> Bool {
        if let folder {
            return try folder.publish(
                draft, as: name, of: key(), fileExtension: fileExtension, validator: validator, isOwn: isOwn)
        }
        try processor.store?.publish(draft, as: name)
        return true
    }

    // MARK: Endings without a file

    private func end(_ item: ListItem, _ report: Report) {
        if processor.store != nil { name(item, .failed) }
        items.ended(item, report)
    }

    /// The run ends before an item. An item whose body is being processed is still reported.
    func runEnded(_ item: ListItem) {
        guard case .abandon(let load) = take(.runEnded, item) else { return }
        load?.cancel()
        abandon(item)
    }

    private func abandon(_ item: ListItem) {
        if processor.store != nil { name(item, .failed) }
        items.abandoned(item)
    }
}
