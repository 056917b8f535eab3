import Inflight
import InflightCore

/// Performs the steps that ``ItemMachine`` decides.
extension GetRun {
    func begin(_ item: ListItem) {
        loading += 1
        if case .failure(let error) = store {
            if case .report = take(.refused, item) { finish(item, .failure(error)) }
            return
        }
        if store != nil { names.asked(item.id, stem: stem(of: item)) }
        if looksUp { lookUp(item) } else { load(item) }
    }

    var looksUp: Bool { options.skipsExisting && store != nil }

    /// Applies an event and returns the next step.
    func take(_ event: ItemMachine<ImageTask, BodyProcessor.ProcessedBody>.Event, _ item: ListItem)
        -> ItemMachine<ImageTask, BodyProcessor.ProcessedBody>.Step
    {
        let wasLoading = item.machine.isLoading
        let step = item.machine.take(event)
        if wasLoading && !item.machine.isLoading { loading -= 1 }
        return step
    }

    /// Looks for the file of an earlier run. It runs on the queue, because expected numbers depend on request order.
    private func lookUp(_ item: ListItem) {
        let candidates = work.existingParts(item.suggested).map { ($0, names.expectedNumber($0)) }
        let paths = candidates.map { $0.name(number: $1) }
        let found = work.existing(paths)
        let expected = work.expectedParts(item.suggested)
        let (parts, number) = found.map { candidates[$0.index] } ?? (expected, names.expectedNumber(expected))
        names.expect(parts, number: number)
        guard case .skip = take(.lookedUp(isFound: found != nil), item), let found else { return load(item) }
        let name = paths[found.index]
        decide(names.ended(item.id, stem: stem(of: item), .existing(name)))
        var report = Report(outcome: .skipped, file: try? store?.get().path(of: name))
        report.picture = found.picture
        console.tell(item.text, "skipped: \(report.file ?? name) already exists")
        finish(item, report)
        show(found.subject, of: item)
    }

    private func load(_ item: ListItem) {
        let request = requests.request(item.text, item.url)
        item.startedAt = clock.now()
        if item.url.origin == nil { localLoads += 1 }
        console.tell(item.text, "requested")
        var progress: (@Sendable (ImageTask, ImageTask.Progress) -> Void)?
        if console.showsProgress { progress = { _, value in item.receivedBytes = value.receivedBytes } }
        let preview = options.showsPreviews ? showPreview(of: item) : nil
        let work = work
        let task: ImageTask
        if options.treatment == .reencoded {
            task = pipeline.load(request, on: .queue(queue), progress: progress, preview: preview) {
                [self] _, result in
                loaded(item, result) { image throws(LoadError) in
                    try work.reencode(image, of: item.url, suggested: item.suggested)
                }
            }
        } else {
            task = pipeline.loadResponse(request, on: .queue(queue), progress: progress, preview: preview) {
                [self] _, result in
                loaded(item, result, isSlow: work.isSlow) { response throws(LoadError) in
                    try work.keep(response, suggested: item.suggested)
                }
            }
        }
        _ = take(.loadBegan(task), item)
        record(begun: item, task.number)
    }

    /// The engine has finished. The body is processed here, or on a worker thread if that takes long.
    private func loaded<Loaded: Sendable>(
        _ item: ListItem, _ result: Result<Loaded, LoadError>, isSlow: (Loaded) -> Bool = { _ in true },
        _ make: @escaping @Sendable (Loaded) throws(LoadError) -> BodyProcessor.ProcessedBody
    ) {
        switch result {
        case .failure(let error):
            if case .report = take(.loaded(isSuccess: false), item) { finish(item, .failure(error)) }
        case .success(let loaded):
            guard case .make = take(.loaded(isSuccess: true), item) else { return }
            guard isSlow(loaded) else {
                made(item, Result { () throws(LoadError) in try make(loaded) })
                break
            }
            return onWorker {
                Result { () throws(LoadError) in try make(loaded) }
            } then: { [self] result in
                made(item, result)
                pump()
            }
        }
        pump()
    }

    private func made(_ item: ListItem, _ result: Result<BodyProcessor.ProcessedBody, LoadError>) {
        switch result {
        case .failure(let error) where error.code == .outputClosed || (error.code == .cancelled && isEnding):
            if case .abandon = take(.makingCancelled, item) { forget(item) }
            if error.code == .outputClosed { endEarly(status: CommandLineTool.ExitStatus.closedOutput) }
        case .failure(let error):
            if case .report = take(.made(nil), item) { finish(item, .failure(error)) }
        case .success(let made):
            record(made.work, of: item)
            switch take(.made(made.draft == nil ? nil : made), item) {
            case .name: decide(names.ended(item.id, stem: stem(of: item), .stored(made.parts)), for: item)
            default:
                reporter.totals.storedBytes += made.writtenBytes
                finish(item, made.report)
            }
            show(made.subject, of: item)
        }
    }

    /// Publishes the files whose names were decided, and remembers the item if its own name is not.
    ///
    /// - Parameter item: The item whose file was just written.
    func decide(_ decisions: [OutputNameAllocator.Decision], for item: ListItem? = nil) {
        if let item, !decisions.contains(where: { $0.id == item.id }) { unnamed[item.id] = item }
        for decision in decisions {
            let decided = decision.id == item?.id ? item : unnamed.removeValue(forKey: decision.id)
            guard let name = decision.name, let decided else { continue }
            if case .publish(let made) = take(.named, decided) { publish(made, as: name, decided) }
        }
    }

    private func publish(_ made: BodyProcessor.ProcessedBody, as name: String, _ item: ListItem) {
        guard let draft = made.draft, case .success(let store) = store else { return }
        do throws(LoadError) {
            try store.publish(draft, as: name)
        } catch {
            return finish(item, .failure(error))
        }
        var report = made.report
        if reportsDetails { report.file = store.path(of: name) }
        report.previews = item.previews
        reporter.totals.storedFiles += 1
        reporter.totals.storedBytes += made.writtenBytes
        finish(item, report)
    }

    func stem(of item: ListItem) -> String { item.suggested.stem(inspectsBody: options.treatment != .anything) }
}
