import Inflight
import InflightCore

/// One URL's way: from the look for an earlier run's file to a file with a name.
extension GetRun {
    func begin(_ ask: Ask) {
        if case .failure(let error) = store { return finish(ask, .failure(error)) }
        loading += 1
        guard store != nil else { return load(ask) }
        let looksAtBytes = options.treatment != .anything
        ask.owesName = true
        names.asked(ask.id, stem: ask.wanted.stem(looksAtBytes: looksAtBytes))
        guard options.skipsExisting else { return load(ask) }
        unchecked.append(ask)
        if unchecked.count == 1 { checkNext() }
    }

    /// Looks for an earlier run's file: one URL after the other, because names are given in the order of asking.
    func checkNext() {
        guard let ask = unchecked.first else { return }
        let candidates = work.existingParts(ask.wanted).map { ($0, names.expectedNumber($0)) }
        let paths = candidates.map { $0.name(number: $1) }
        onWorker(ask) { [work] in
            work.existing(paths)
        } then: { [self] ask, found in
            unchecked.removeFirst()
            if isEnding {
                abandon(ask)
            } else if let found {
                names.expect(candidates[found.index].0, number: candidates[found.index].1)
                skip(ask, paths[found.index], found.picture)
                show(found.subject, of: ask)
            } else {
                let expected = work.expectedParts(ask.wanted)
                names.expect(expected, number: names.expectedNumber(expected))
                load(ask)
            }
            if isEnding {
                for ask in unchecked { abandon(ask) }
                unchecked = []
            }
            checkNext()
            pump()
        }
    }

    func skip(_ ask: Ask, _ name: String, _ picture: Report.Picture?) {
        loading -= 1
        ask.owesName = false
        decide(names.ended(ask.id, .existing(name)))
        var report = Report(outcome: .skipped, file: try? store?.get().path(of: name))
        report.picture = picture
        narrator.tell(ask.text, "skipped: \(report.file ?? name) is there")
        finish(ask, report)
    }

    func load(_ ask: Ask) {
        let request = requests.request(ask.text, ask.url)
        ask.startedAt = clock.now()
        if ask.url.origin == nil { localLoads += 1 }
        narrator.tell(ask.text, "asked for")
        let id = ask.id
        var progress: (@Sendable (ImageTask, LoadProgress) -> Void)?
        if narrator.showsProgress {
            progress = { [self] _, value in byID[id]?.receivedBytes = value.receivedBytes }
        }
        let preview = options.showsPreviews ? showPreview(of: id) : nil
        let (work, wanted, url) = (work, ask.wanted, ask.url)
        if options.treatment == .remade {
            ask.task = pipeline.load(request, on: .queue(queue), progress: progress, preview: preview) {
                [self] _, result in
                loaded(id, result) { image throws(LoadError) in try work.remake(image, of: url, wanted: wanted) }
            }
        } else {
            ask.task = pipeline.loadResponse(request, on: .queue(queue), progress: progress, preview: preview) {
                [self] _, result in
                loaded(id, result) { response throws(LoadError) in try work.keep(response, wanted: wanted) }
            }
        }
        record(begun: ask)
    }

    /// The engine has done its part: on with the working threads.
    func loaded<Loaded: Sendable>(
        _ id: Int, _ result: Result<Loaded, LoadError>,
        _ make: @escaping @Sendable (Loaded) throws(LoadError) -> PictureWork.Made
    ) {
        guard let ask = byID[id] else { return }
        ask.task = nil
        switch result {
        case .failure(let error):
            loading -= 1
            finish(ask, .failure(error))
            pump()
        case .success(let loaded):
            onWorker(ask) {
                Result { () throws(LoadError) in try make(loaded) }
            } then: { [self] ask, result in
                loading -= 1
                var subject: ThumbnailSubject?
                if case .success(let made) = result {
                    record(made.work, of: ask)
                    subject = made.subject
                }
                made(ask, result)
                show(subject, of: ask)
                pump()
            }
        }
    }

    func made(_ ask: Ask, _ result: Result<PictureWork.Made, LoadError>) {
        switch result {
        case .failure(let error) where error.code == .cancelled && isEnding:
            abandon(ask)
        case .failure(let error) where error.code == .outputClosed:
            abandon(ask)
            endEarly(status: CommandLineTool.ExitStatus.closedOutput)
        case .failure(let error):
            finish(ask, .failure(error))
        case .success(let made):
            guard made.draft != nil else {
                reporter.totals.storedBytes += made.writtenBytes
                return finish(ask, made.report)
            }
            ask.made = made
            decide(names.ended(ask.id, .stored(made.parts)))
        }
    }

    /// Gives files their names.
    func decide(_ decisions: [NameBook.Decision]) {
        for decision in decisions {
            guard let name = decision.name, let ask = byID[decision.id], let made = ask.made, let draft = made.draft,
                case .success(let store) = store
            else { continue }
            ask.owesName = false
            onWorker(ask) {
                Result { () throws(LoadError) in try store.publish(draft, as: name) }
            } then: { [self] ask, result in
                switch result {
                case .failure(let error):
                    finish(ask, .failure(error))
                case .success:
                    var report = made.report
                    report.file = store.path(of: name)
                    report.previews = ask.previews
                    reporter.totals.storedFiles += 1
                    reporter.totals.storedBytes += made.writtenBytes
                    finish(ask, report)
                }
                pump()
            }
        }
    }
}
