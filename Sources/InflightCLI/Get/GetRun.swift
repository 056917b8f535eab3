import Dispatch
import Inflight
import InflightConcurrency
import InflightCore

/// One `inflight get`: takes URLs as fast as they can be worked on, hands them to the engine, and reports.
///
/// Everything happens on `queue`, a serial one: the engine's callbacks, what the working threads have done, the list's
/// bytes, and the ticks of the progress line. So nothing here needs a lock.
// Unchecked: everything mutable is touched on `queue` alone, or before the run is started.
final class GetRun: @unchecked Sendable {
    /// Lines that are asked for and not told yet: files that wait for a name, lines that wait for an earlier one.
    static let mostOutstanding = 4096
    /// What the URLs and lines of those may take in memory.
    static let mostOutstandingBytes = 8 << 20
    /// Lines that are taken before others get their turn on the queue.
    private static let linesAtOnce = 256

    let options: GetOptions
    let queue = DispatchQueue(label: "inflight.get")
    let pipeline: ImagePipeline
    let workers = WorkerThreads(count: 2, name: "inflight-files")
    let narrator: Narrator
    let reporter: Reporter
    /// `nil`: nothing is stored. A failure is that of every URL.
    let store: Result<FileStore, LoadError>?
    let work: PictureWork
    let requests: RequestMaker
    let clock = SystemClock()
    /// Work that has not begun when the run ends early is left.
    let cancellation = CancellationFlag()
    private let onEnd: @Sendable (Int32) -> Void

    private var arguments: ArraySlice<String>
    private var list: ListSource?
    /// What is on its way, by what is asked for.
    private var live: [String: Ask] = [:]
    private var byID: [Int: Ask] = [:]
    private var nextID = 0
    /// Asks whose body is being fetched, or is in memory.
    private var loading = 0
    /// Jobs of the working threads that are not back.
    private var pendingWork = 0
    private var memory = LongMemory()
    private var names: NameBook
    /// Those for which an earlier run's file is looked for, the first of them right now.
    private var unchecked: [Ask] = []
    private var pumpIsScheduled = false
    private var timer: (any DispatchSourceTimer)?
    private(set) var isEnding = false
    private var hasEnded = false
    private var endStatus: Int32?
    private var interruption: String?
    private var localLoads = 0
    private let start: MonotonicTime

    init(
        _ options: GetOptions, pipeline: ImagePipeline, list descriptor: Int32?,
        onEnd: @escaping @Sendable (Int32) -> Void
    ) {
        self.options = options
        self.pipeline = pipeline
        self.onEnd = onEnd
        narrator = Narrator(options.network)
        reporter = Reporter(isJSON: options.network.json, isOrdered: !options.isUnordered, narrator: narrator)
        arguments = options.urls[...]
        names = NameBook(memory: LongMemory())
        requests = RequestMaker(options.network, resize: options.resize)
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

    /// Removes every file that is not whole: for an end that cannot wait for the queue. Any thread.
    func removeDrafts() {
        try? store?.get().close()
    }

    // MARK: Taking lines

    private var outstanding: Int { max(reporter.outstanding, byID.count) }

    private var canTakeMore: Bool {
        !isEnding && loading < options.concurrency * 4 && outstanding < Self.mostOutstanding
            && reporter.outstandingBytes < Self.mostOutstandingBytes
    }

    /// Takes as many lines as can be worked on now.
    func pump() {
        guard !isEnding else { return }
        for _ in 0..<Self.linesAtOnce {
            guard canTakeMore else { return }
            if let url = arguments.popFirst() {
                ask(url)
                continue
            }
            guard let line = list?.next() else {
                endIfDone()
                return
            }
            switch line {
            case .text(let bytes): ask(bytes)
            case .tooLong(let beginning): refuse(beginning)
            }
        }
        schedulePump()
    }

    private func schedulePump() {
        guard !pumpIsScheduled else { return }
        pumpIsScheduled = true
        queue.async { [self] in
            pumpIsScheduled = false
            pump()
        }
    }

    private func ask(_ line: [UInt8]) {
        if let text = String(validating: line, as: UTF8.self) { return ask(text) }
        let text = String(decoding: line.prefix(200), as: UTF8.self)
        let message = "This line of the list is not UTF-8. Percent-encode what is not ASCII."
        refuse(text, LoadError(.invalidURL, stage: .request, message: message))
    }

    private func refuse(_ beginning: [UInt8]) {
        let text = String(decoding: beginning, as: UTF8.self) + "…"
        let message =
            "This line of the list is longer than \(Quantity.grouped(ListSource.longestLine)) bytes, too long for a URL."
        refuse(text, LoadError(.invalidURL, stage: .request, message: message))
    }

    private func refuse(_ text: String, _ error: LoadError) {
        let waiter = newWaiter(text)
        conclude(waiter, Report.failure(error).digest, from: nil)
        note(error, text: text)
    }

    private func newWaiter(_ text: String) -> Ask.Waiter {
        reporter.totals.asked += 1
        return Ask.Waiter(number: reporter.opened(text), text: text, askedAt: clock.now())
    }

    private func ask(_ text: String) {
        let url: ResourceURL
        do throws(LoadError) {
            url = try ResourceURL(text)
        } catch {
            return refuse(text, error)
        }
        let waiter = newWaiter(text)
        let key = Ask.key(url)
        if let ask = live[key] {
            reporter.totals.shared += 1
            narrator.tell(text, "the same as one under way: it takes that one's answer")
            ask.waiters.append(waiter)
        } else if let digest = memory["u" + key].flatMap(Report.Digest.init(encoded:)) {
            reporter.totals.shared += 1
            narrator.tell(text, "the same as an earlier one: it takes that one's answer")
            conclude(waiter, digest, from: digest.hasSource ? LoadSource.shared.rawValue : nil)
            digest.failure.map { reporter.totals.note($0, url: Narrator.shown(text), message: "") }
        } else {
            nextID += 1
            let ask = Ask(id: nextID, url: url, key: key, wanted: WantedName(url), first: waiter)
            live[key] = ask
            byID[ask.id] = ask
            begin(ask)
        }
    }

    // MARK: One URL's way

    private func begin(_ ask: Ask) {
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
    private func checkNext() {
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

    private func skip(_ ask: Ask, _ name: String, _ picture: Report.Picture?) {
        loading -= 1
        ask.owesName = false
        decide(names.ended(ask.id, .existing(name)))
        var report = Report(outcome: .skipped, file: try? store?.get().path(of: name))
        report.picture = picture
        narrator.tell(ask.text, "skipped: \(report.file ?? name) is there")
        finish(ask, report)
    }

    private func load(_ ask: Ask) {
        let request = requests.request(ask.text, ask.url)
        ask.startedAt = clock.now()
        if ask.url.origin == nil { localLoads += 1 }
        narrator.tell(ask.text, "asked for")
        let id = ask.id
        var progress: (@Sendable (ImageTask, LoadProgress) -> Void)?
        if narrator.showsProgress {
            progress = { [self] _, value in byID[id]?.receivedBytes = value.receivedBytes }
        }
        let (work, wanted, url) = (work, ask.wanted, ask.url)
        if options.treatment == .remade {
            ask.task = pipeline.load(request, on: .queue(queue), progress: progress) { [self] _, result in
                loaded(id, result) { image throws(LoadError) in try work.remake(image, of: url, wanted: wanted) }
            }
        } else {
            ask.task = pipeline.loadResponse(request, on: .queue(queue), progress: progress) { [self] _, result in
                loaded(id, result) { response throws(LoadError) in try work.keep(response, wanted: wanted) }
            }
        }
    }

    /// The engine has done its part: on with the working threads.
    private func loaded<Loaded: Sendable>(
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
                made(ask, result)
                pump()
            }
        }
    }

    private func made(_ ask: Ask, _ result: Result<PictureWork.Made, LoadError>) {
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
    private func decide(_ decisions: [NameBook.Decision]) {
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
                    reporter.totals.storedFiles += 1
                    reporter.totals.storedBytes += made.writtenBytes
                    finish(ask, report)
                }
                pump()
            }
        }
    }

    /// Tells everyone who asked, and remembers it for those who will.
    private func finish(_ ask: Ask, _ report: Report) {
        remove(ask)
        var report = report
        report.error = report.error.map { $0.about(url: ask.url.string) }
        let digest = report.digest
        memory["u" + ask.key] = digest.encoded
        reporter.totals.receivedBytes += report.wireBytes ?? 0
        tell(ask, report)
        if let error = report.error { note(error, text: ask.text) }
        for (index, waiter) in ask.waiters.enumerated() {
            let from = index == 0 || report.from == nil ? report.from : LoadSource.shared.rawValue
            conclude(waiter, digest, from: from, since: index == 0 ? ask.startedAt : waiter.askedAt)
            if index > 0 { digest.failure.map { reporter.totals.note($0, url: "", message: "") } }
        }
    }

    /// The run ends before this one: nobody is told.
    private func abandon(_ ask: Ask) {
        ask.task?.cancel()
        ask.task = nil
        remove(ask)
    }

    private func remove(_ ask: Ask) {
        live[ask.key] = nil
        byID[ask.id] = nil
        guard ask.owesName else { return }
        ask.owesName = false
        decide(names.ended(ask.id, .failed(expected: work.expectedParts(ask.wanted))))
    }

    private func conclude(
        _ waiter: Ask.Waiter, _ digest: Report.Digest, from: String?, since: MonotonicTime? = nil
    ) {
        reporter.totals.count(digest.outcome)
        let duration = clock.now() - (since ?? waiter.askedAt)
        reporter.closed(
            waiter.number, waiter.text, digest, from: from,
            milliseconds: Int(duration.saturatedNanoseconds / 1_000_000))
        if let status = reporter.outputLoss {
            interruption = interruption ?? "Given up"
            endEarly(status: status)
        }
    }

    private func note(_ error: LoadError, text: String) {
        reporter.totals.note(Report.Digest.Failure(error), url: Narrator.shown(text), message: error.message)
        narrator.failed(text, error)
    }

    private func tell(_ ask: Ask, _ report: Report) {
        guard report.outcome == .ok else { return }
        narrator.tell(ask.text, Self.story(report, took: clock.now() - ask.startedAt))
    }

    static func story(_ report: Report, took: Duration) -> String {
        var parts: [String] = []
        if let status = report.status { parts.append("\(status)") }
        if let bytes = report.bytes { parts.append(Quantity.bytes(bytes)) }
        if let source = report.source { parts.append("\(source.format) \(source.width) × \(source.height)") }
        var text = "\(parts.joined(separator: ", ")) from \(report.from ?? "nowhere") in \(Quantity.time(took))"
        if let final = report.finalURL { text += ", redirected to \(final)" }
        if let file = report.file { text += ", stored as \(file)" }
        if let picture = report.picture, picture != report.source, report.file != nil {
            text += " (\(picture.format) \(picture.width) × \(picture.height))"
        }
        return text
    }

    // MARK: Threads

    /// Does something that blocks or computes on a thread of its own, and comes back to the queue with what it gave.
    private func onWorker<Value: Sendable>(
        _ ask: Ask, _ body: @escaping @Sendable () -> Value, then: @escaping @Sendable (Ask, Value) -> Void
    ) {
        pendingWork += 1
        // Only touched on the queue: the thread carries it there and back.
        nonisolated(unsafe) let ask = ask
        workers.run { [self] in
            let value = body()
            queue.async { [self] in
                pendingWork -= 1
                unsafe then(ask, value)
                if isEnding { endIfQuiet() } else { endIfDone() }
            }
        }
    }

    // MARK: Progress

    private func startTicking() {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .milliseconds(100), repeating: .milliseconds(100))
        timer.setEventHandler { [unowned self] in
            guard !hasEnded else { return }
            narrator.show(progress)
        }
        self.timer = timer
        timer.activate()
    }

    private var progress: ProgressLine.State {
        let totals = reporter.totals
        let underWay = byID.values.reduce(Int64(0)) { $0 + $1.receivedBytes }
        return ProgressLine.State(
            done: totals.done, failed: totals.failed, asked: totals.asked + arguments.count,
            isOpen: list.map { !$0.isAtEnd } ?? false, bytes: totals.receivedBytes + underWay,
            elapsed: clock.now() - start)
    }

    // MARK: Ending

    private func endIfDone() {
        guard !isEnding, arguments.isEmpty, list?.isAtEnd ?? true, byID.isEmpty, pendingWork == 0 else { return }
        isEnding = true
        var status =
            reporter.totals.failed > 0 ? CommandLineTool.ExitStatus.failure : CommandLineTool.ExitStatus.success
        if let failure = list?.failure {
            narrator.warn("The list could not be read to its end: \(failure.text).")
            status = CommandLineTool.ExitStatus.noInput
        }
        end(status)
    }

    private func endEarly(status: Int32) {
        guard !isEnding else { return }
        isEnding = true
        endStatus = status
        cancellation.cancel()
        list?.stop()
        // In the order of asking, so that what is written gets the names that it would have had.
        for ask in byID.values.sorted(by: { $0.id < $1.id }) where ask.task != nil { abandon(ask) }
        endIfQuiet()
    }

    /// After an early end: as soon as the threads have put down what they had in hand.
    private func endIfQuiet() {
        guard let endStatus, pendingWork == 0, !hasEnded else { return }
        end(endStatus)
    }

    private func end(_ status: Int32) {
        guard !hasEnded else { return }
        hasEnded = true
        timer?.cancel()
        removeDrafts()
        narrator.clear()
        if status != CommandLineTool.ExitStatus.closedOutput {
            reporter.flush()
            reporter.totals.requests = max(0, pipeline.statistics.exchanges - localLoads)
            var summary = Summary(totals: reporter.totals, elapsed: clock.now() - start)
            summary.directory = try? store?.get().shownPath
            summary.isOfAnything = options.treatment == .anything
            summary.interruption = interruption
            narrator.summarize(summary)
        }
        onEnd(status)
    }
}
