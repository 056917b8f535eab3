import InflightConcurrency
internal import Synchronization

// The bytes of a body as they arrive: decoded, kept within the memory that all bodies in flight share, reported, and
// measured. Each piece is processed before the next arrives. If that has to wait for memory or for a worker thread,
// the transport is paused, and the end of the exchange is held.

extension Fetch {
    func didReceive(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> TransportDisposition {
        guard !hasEnded else { return .cancel }
        if exchange.verdict != nil {
            guard offset + Int64(bytes.count) <= Self.drainedBytes else { return .cancel }
            if let cache, cache.incoming != nil {
                exchange.receivedBytes += Int64(bytes.count)
                unsafe cache.raw.append(bytes)
            }
            return .proceed
        }
        if let verdict = unsafe append(bytes) { exchange.verdict = verdict }
        noteRate(bytes.count)
        guard reportBody() else { return .cancel }
        return continuesOrPauses() ? .proceed : .pause
    }

    /// Appends received bytes to the body, and to the undecoded copy for the store.
    ///
    /// - Parameter spills: whether all of them are taken at once, because nothing can pause their source.
    /// - Returns: the verdict that makes the rest irrelevant, if any.
    private func append(_ bytes: UnsafeRawBufferPointer, spills: Bool = false) -> Verdict? {
        response.rawBytes += Int64(bytes.count)
        exchange.receivedBytes += Int64(bytes.count)
        if let coded = response.coded {
            if !isBodyInFile { unsafe cache?.raw.append(bytes) }
            return unsafe decode(bytes, by: coded, spills: spills)
        }
        let count = Int64(bodyBuffer.count + bytes.count)
        if let error = excess(count) { return .failure(error) }
        unsafe bodyBuffer.append(bytes)
        return nil
    }

    /// Appends the decoded bytes of a coded piece, within the budget and the limit of one turn.
    ///
    /// - Parameters:
    ///   - bytes: the piece; if `nil`, the rest of the last one.
    ///   - spills: whether to append all of it, and spill to a file beyond the budget, because the source cannot be
    ///     paused.
    func decode(
        _ bytes: UnsafeRawBufferPointer?, by coded: CodedBody, spills: Bool = false
    ) -> Verdict? {
        var added = 0
        var verdict: Verdict?
        let body: (UnsafeRawBufferPointer) -> Bool = { [self] part in
            let count = Int64(bodyBuffer.count + part.count)
            if let error = excess(count, of: "After content decoding, the body") {
                verdict = .failure(error)
                return false
            }
            unsafe bodyBuffer.append(part)
            added += part.count
            guard spills else { return recordBytes() && added < Self.turnBytes }
            verdict = keepLimit()
            return verdict == nil
        }
        do throws(ContentCodingError) {
            if let bytes = unsafe bytes { unsafe try coded.decode(bytes, body) } else { try unsafe coded.resume(body) }
            return verdict ?? (hasDecodedLength(coded) ? .decoded : nil)
        } catch {
            return .failure(codingFailure(error))
        }
    }

    /// Returns whether the body is complete, and has the announced length only after decoding. Some servers compress a
    /// file and announce its own length, so that the end of the coded data is the end of the body.
    private func hasDecodedLength(_ coded: CodedBody) -> Bool {
        guard let announced = response.expectedBytes, response.rawBytes < announced,
            Int64(bodyBuffer.count) == announced
        else { return false }
        return coded.isComplete
    }

    /// Returns an error if the content coding is incomplete at the end of the body.
    func finishCoding() -> LoadError? {
        do throws(ContentCodingError) {
            try response.coded?.finish()
            return nil
        } catch {
            return codingFailure(error)
        }
    }

    func codingFailure(_ error: ContentCodingError) -> LoadError {
        switch error {
        case .damaged:
            LoadError(
                .badResponse, stage: .fetch,
                message: "The content-coded body is corrupt. The server may be misconfigured.")
        case .truncated:
            LoadError(.truncated, stage: .fetch, message: "The content-coded body is truncated. Try again.")
        case .outOfMemory:
            LoadError(
                .tooLarge, stage: .fetch, message: "Not enough memory to decode the body's content coding.")
        case .stopped:
            LoadError(
                .tooLarge, stage: .fetch,
                message: Self.tooLong("After content decoding, the body", transportLimits.maximumBodyBytes))
        }
    }

    static func tooLong(_ what: String, _ limit: Int64) -> String {
        "\(what) exceeds the limit of \(limit) bytes. Raise maximumBodyBytes if you trust the server."
    }

    /// Appends the stored first part of a body, whose rest is received later.
    func appendStored(_ bytes: UnsafeRawBufferPointer) -> Verdict? {
        for start in stride(from: 0, to: bytes.count, by: Self.turnBytes) {
            let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Self.turnBytes, bytes.count)])
            if let verdict = unsafe append(piece, spills: true) ?? keepLimit() { return verdict }
        }
        sleepBody()
        return nil
    }

    // MARK: Reports

    /// Reports the received bytes to observers, subscribers, the store and previews.
    ///
    /// - Returns: whether more bytes are needed.
    private func reportBody() -> Bool {
        if exchange.verdict != nil {
            cache?.changes.bodyStorage = .nothing
            return false
        }
        let count = Int64(bodyBuffer.count)
        if engine.telemetry != nil, count - exchange.reportedBytes >= Self.reportingStep {
            exchange.reportedBytes = count
            emit(.received(bytes: count))
        }
        if let cache { storePart(cache) }
        if plan.goal == .info { return !probe() }
        reportProgress()
        if let options = previewOptions, !bodyBuffer.hasSpilled { preview(options) }
        return true
    }

    /// The shortest time between two reports of progress, about that between two frames on a display.
    private static let reportInterval = Duration.milliseconds(16)

    /// Reports the progress to the tasks that observe it, unless the last report is recent. A task that has joined
    /// since then gets the next one in any case.
    private func reportProgress() {
        let progress = ImageTask.Progress(
            receivedBytes: Int64(bodyBuffer.count), expectedBytes: response.expectedBytes)
        let now = clock.now()
        let isRecent = reportedAt.map { now - $0 < Self.reportInterval } ?? false
        if isRecent, !job.hasNewObserver.exchange(false, ordering: .relaxed) {
            unreported = progress
        } else {
            (reportedAt, unreported) = (now, nil)
            previewOptions = engine.didProgress(self, progress)
        }
    }

    /// The number of bytes between two events that report them.
    private static let reportingStep: Int64 = 64 * 1024

    private func preview(_ options: ImageRequest.PreviewOptions) {
        if previews == nil {
            let previews = PreviewProducer(engine: engine, job: id, options)
            stripe.lock.withLock {
                if !state.isCancelled { self.previews = previews }
            }
        }
        previews?.bytesReceived(bodyBuffer)
    }

    /// Returns whether the received bytes suffice to read the image's header, or to know why it cannot be read.
    private func probe() -> Bool {
        guard bodyBuffer.count >= response.neededBytes else { return false }
        exchange.verdict = info { () throws(LoadError) in
            switch try codecs.probe(bodyBuffer.copy(), isComplete: false) {
            case .info(let info): return info
            case .needsMoreBytes(let count):
                response.neededBytes = count
                return nil
            }
        }
        return exchange.verdict != nil
    }

    /// Reads the image's header from the complete body, or determines why it cannot be read.
    func probeWhole() {
        exchange.verdict = info { () throws(LoadError) in
            try codecs.info(of: bodyBuffer.copy())
        }
    }

    private func info(_ read: () throws(LoadError) -> ImageInfo?) -> Verdict? {
        do throws(LoadError) {
            return try read().map { .info($0) }
        } catch {
            return .failure(error.naming(response.head))
        }
    }

    // MARK: The memory of bodies in flight

    /// The number of bytes that one turn adds to the body.
    static let turnBytes = 1 << 20

    /// Reports the number of the body's bytes in memory to the budget.
    ///
    /// - Returns: whether the budget allows more.
    private func recordBytes() -> Bool {
        let bytes = Int64(bodyBuffer.memoryCount) + Int64(cache?.raw.memoryCount ?? 0)
        if let id = bodyID { return engine.bodies.withLock { $0.recordBytes(bytes, of: id) } }
        let (id, isRoom) = engine.bodies.withLock { budget in
            let id = budget.began(spills: response.downloadFolder != nil)
            return (id, budget.recordBytes(bytes, of: id))
        }
        stripe.lock.withLock { bodyID = id }
        return isRoom
    }

    /// Returns whether the transport continues. If not, the fetch has paused or has scheduled a turn.
    private func continuesOrPauses() -> Bool {
        let isRoom = recordBytes()
        let hasMore = response.coded?.hasMore ?? false
        guard !isRoom || hasMore, let body = bodyID else { return true }
        let now = clock.now()
        let priority = engine.priority(of: id) ?? .low
        // libcurl stops reading a connection while one of its streams is paused.
        let isMultiplexed = response.head?.version.isMultiplexed ?? false
        let number = sentExchanges - 1
        let answer: BodyBudget.Answer? = stripe.lock.withLock {
            guard let mayPause = state.mayPause(hasMore: hasMore) else { return nil }
            let answer = engine.bodies.withLock {
                $0.decide(body, mayPause: mayPause && !isMultiplexed, priority: priority) {
                    { [self] spills in resume(number, spills: spills) }
                }
            }
            if answer == .proceed, !hasMore { return nil }
            state.stopped(untilRoom: answer == .pause, at: now)
            return answer
        }
        guard let answer else { return true }
        if answer != .pause { schedule(number, spills: answer == .spill) }
        return false
    }

    /// Spills the body if it exceeds the budget. For bytes from a source that cannot be paused.
    private func keepLimit() -> Verdict? {
        recordBytes() ? nil : spill()
    }

    /// The budget allows the paused fetch to continue.
    private func resume(_ number: Int, spills: Bool) {
        // The exchange may have ended meanwhile.
        let hasTurn = stripe.lock.withLock {
            state.granted(number: number, needsTurn: spills || response.coded?.hasMore ?? false)
        }
        guard let hasTurn else { return }
        if hasTurn { schedule(number, spills: spills) } else { continueExchange(isWanted: true) }
    }

    func schedule(_ number: Int, spills: Bool) {
        engine.turns.add(BodyProcessingQueue.Turn(fetch: self, exchange: number, spills: spills))
    }

    /// Runs a turn on one of the decoding threads.
    func run(_ turn: BodyProcessingQueue.Turn) {
        // The exchange may have ended meanwhile.
        guard stripe.lock.withLock({ state.turnStarted(number: turn.exchange) }) else { return }
        if turn.spills { exchange.verdict = spill() }
        if exchange.verdict == nil, let coded = response.coded, coded.hasMore {
            exchange.verdict = unsafe decode(nil, by: coded)
        }
        let isWanted = reportBody() && !stripe.lock.withLock { state.isCancelled }
        if isWanted, !continuesOrPauses() { return }
        continueExchange(isWanted: isWanted)
    }

    /// Resumes or cancels the transfer, or processes the held end of the exchange.
    func continueExchange(isWanted: Bool) {
        let now = clock.now()
        let (next, rate) = stripe.lock.withLock { state.processed(at: now) }
        if let rate { engine.checker.add(self, checkAt: rate.time ?? now) }
        switch next {
        case .ends(let ending): if let step = exchangeEnded(ending) { engine.advance(step) }
        case .continues(let transfer): if isWanted { transfer.resume() } else { transfer.cancel() }
        case .resumesWhenKnown: break
        }
    }

    private func spill() -> Verdict? {
        do throws(PosixError) {
            if let folder = response.downloadFolder {
                try bodyBuffer.spill(to: folder, isDownload: true)
                cache?.changes.bodyStorage = .nothing
                cache?.raw.reset()
            } else {
                try bodyBuffer.spill(to: engine.temporaryFolder)
                try cache?.raw.spill(to: engine.temporaryFolder)
            }
        } catch {
            return .failure(unspilled(error))
        }
        if let id = bodyID { BodyBudget.resume(engine.bodies.withLock { $0.spilled(id) }) }
        return nil
    }

    /// Completes a body that is in a file.
    func seal() -> LoadError? {
        do throws(PosixError) {
            try bodyBuffer.seal()
            try cache?.raw.seal()
            return nil
        } catch {
            return unspilled(error)
        }
    }

    func unspilled(_ error: PosixError) -> LoadError {
        if let folder = response.downloadFolder { return .cannotWrite(to: folder, error) }
        return LoadError(
            .tooLarge, stage: .fetch,
            message:
                "Response bodies in flight use all \(engine.bodyLimit) bytes of their memory, and no temporary file can be "
                + "written and read: \(error.text). Free disk space, or raise maximumBodyBytesInFlight.")
    }

    /// Releases the body's share of the budget, and resumes the paused transfers that fit now.
    func endBody() {
        guard let id = stripe.lock.withLock({ bodyID.take() }) else { return }
        BodyBudget.resume(engine.bodies.withLock { $0.ended(id) })
    }

    /// Keeps the received bytes until the fetch resumes in a slot. Bytes beyond the budget are spilled at once, on this
    /// thread, because other fetches would wait for their memory.
    func sleepBody() {
        // If no file can be written, the bytes stay in memory.
        _ = keepLimit()
        guard let id = bodyID else { return }
        BodyBudget.resume(engine.bodies.withLock { $0.slept(id) })
    }

    // MARK: The minimum rate, measured from the first piece of a body that does not end with it

    /// Counts the bytes of a received piece.
    private func noteRate(_ bytes: Int) {
        if exchange.isWatched { return stripe.lock.withLock { state.received(bytes) } }
        if response.expectedBytes.map({ response.rawBytes < $0 }) ?? true {
            watchRate(receivedBytes: bytes)
        }
    }

    /// Without a stall timeout, the rate is measured from the head on.
    func watchRateFromStart() {
        if job.limits.stallTimeout == nil, exchange.verdict == nil { watchRate(receivedBytes: 0) }
    }

    private func watchRate(receivedBytes: Int) {
        let now = clock.now()
        guard var rate = RateMonitor(job.limits, at: now), case .checkAgain(let time) = rate.check(at: now)
        else { return }
        rate.received(receivedBytes)
        exchange.isWatched = true
        stripe.lock.withLock { state.rateMeasured(by: rate) }
        engine.checker.add(self, checkAt: time)
    }

    /// Checks the rate of the transfer, and the total times of the tasks.
    ///
    /// - Returns: the time of the next check.
    func check(at now: MonotonicTime) -> MonotonicTime? {
        let (next, tooSlow) = stripe.lock.withLock { state.rateChecked(at: now) }
        tooSlow?.cancel()
        return [next, checkTime(at: now)].compactMap { $0 }.min()
    }

    /// Returns the error of an exchange that was stopped because it was too slow.
    func tooSlow() -> LoadError {
        let limits = job.limits
        let host = currentURL.origin?.description ?? "the source"
        return LoadError(
            .timedOut, stage: .fetch,
            message: "The transfer was too slow: \(host) sent less than \(limits.minimumBytesPerSecond) bytes per "
                + "second over \((limits.minimumRatePeriod as Duration?).text). Lower minimumBytesPerSecond.")
    }
}

extension RateMonitor.Verdict {
    fileprivate var time: MonotonicTime? {
        if case .checkAgain(let time) = self { time } else { nil }
    }
}

/// Runs the turns in which fetches decode or spill a body outside the transport's thread: one at a time, first in first
/// out, on the decoding threads. The work of a turn is bounded, so that no body waits long for its turn.
final class BodyProcessingQueue: Sendable {
    struct Turn {
        let fetch: Fetch
        let exchange: Int
        let spills: Bool
    }

    private struct State {
        var waiting: [Turn] = []
        /// Whether a turn was passed to the executor and has not finished.
        var isScheduled = false
        var waiters: [Bridge] = []
    }

    private let executor: any WorkExecutor
    private let state = Guarded(State())

    init(executor: any WorkExecutor) {
        self.executor = executor
    }

    func add(_ turn: Turn) {
        let isFirst = state.withLock { state in
            state.waiting.append(turn)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { runNext() }
    }

    /// Waits until no turn is queued or running. This includes turns of fetches that have already ended.
    func wait() async {
        let bridge = Bridge()
        let isScheduled = state.withLock { state in
            if state.isScheduled { state.waiters.append(bridge) }
            return state.isScheduled
        }
        if isScheduled { await bridge.wait() }
    }

    private func runNext() {
        executor.run { [self] in
            let turn = state.withLock { $0.waiting.removeFirst() }
            turn.fetch.run(turn)
            let (hasMore, waiters) = state.withLock { state in
                state.isScheduled = !state.waiting.isEmpty
                guard !state.isScheduled else { return (true, [Bridge]()) }
                defer { state.waiters = [] }
                return (false, state.waiters)
            }
            for waiter in waiters { waiter.open() }
            if hasMore { runNext() }
        }
    }
}
