internal import InflightConcurrency
internal import InflightCore

/// The live exchanges of a scripted transport, and the rule by which each makes its next step.
///
/// One lock guards everything; receivers are called without it. The transport's thread references the core, not the
/// transport, so that an unreferenced transport can end.
final class ScriptedCore: Sendable {
    typealias Transport = ScriptedTransport
    typealias Script = ScriptedTransport.Script

    enum Route: Sendable {
        case inOrder([Script])
        case dynamic(@Sendable (TransportRequest) -> Script)
    }

    struct State {
        var routes: [String: Route] = [:]
        /// The script, or the code, for URLs without their own.
        var fallback: Route?
        var live: [ScriptedExchange] = []
        var queue: [ScriptedExchange] = []
        var isThreadAsleep = false
        var isThreadOver = false
        var openStalls: Set<String> = []
        var isShutDown = false
        var startCount = 0
        /// The number of ends that are being delivered to receivers now.
        var endsUnderWay = 0
        var maximumLive = 0
        var log: [Transport.Event] = []
        var violations: [String] = []
        /// The number of waiters. Without waiters, changes are not announced.
        var waiterCount = 0
    }

    /// The next step of an exchange. Taken under the lock, performed without it.
    enum Move {
        case step(Script.Step, offset: Int64)
        /// The move carries the receiver, so that the transport holds no reference once the end is delivered.
        case end(Result<TransportSummary, LoadError>, (any TransportReceiver)?)
        /// The exchange is paused, stalled, or over, so there is nothing to do.
        case rest
    }

    let isManual: Bool
    /// The clock of timeouts; nil if they do not expire.
    private let clock: (any EngineClock)?
    let records: Bool
    let trapsOnViolation: Bool
    let state = Guarded(State())
    let waiting = WaitList()
    /// Opened when the thread has to check its queue.
    private let work = Latch<Void>()
    /// Opened when the thread has ended.
    private let threadEnd = Latch<Void>()

    init(isManual: Bool, clock: (any EngineClock)?, records: Bool, trapsOnViolation: Bool) {
        self.isManual = isManual
        self.clock = clock
        self.records = records
        self.trapsOnViolation = trapsOnViolation
    }

    // MARK: Calls of the engine

    func start(_ request: TransportRequest, _ receiver: any TransportReceiver, schemes: Set<String>) -> any Transfer {
        if !schemes.contains(request.url.scheme) { violation("\(request.url) has a scheme that is not served") }
        let now = clock?.now()
        // A fixed script is found and started under one lock. The test's own code is called without it.
        let first = state.withLock { state in
            switch takeRoute(for: request, &state) {
            case .fixed(let script): First.begun(begin(request, receiver, script, now, &state))
            case .ask(let body): First.ask(body)
            }
        }
        let begun: Begun
        switch first {
        case .begun(let done): begun = done
        case .ask(let body):
            let script = body(request)
            begun = state.withLock { begin(request, receiver, script, now, &$0) }
        }
        if begun.wakes { work.open(with: ()) }
        // After the shutdown a separate thread has to deliver the end.
        if begun.isLate { JoinableThread(name: "scripted-late") { self.step(begun.exchange) }.detach() }
        if begun.isWaitedFor { waiting.somethingChanged() }
        return begun.exchange
    }

    private struct Begun {
        var exchange: ScriptedExchange
        var wakes: Bool
        var isLate: Bool
        var isWaitedFor: Bool
    }

    private enum First {
        case begun(Begun)
        case ask(@Sendable (TransportRequest) -> Script)
    }

    private func begin(
        _ request: TransportRequest, _ receiver: any TransportReceiver, _ script: Script, _ now: MonotonicTime?,
        _ state: inout State
    ) -> Begun {
        state.startCount += 1
        let exchange = ScriptedExchange(
            number: state.startCount, request: request, receiver: receiver, script: script, core: self,
            startedAt: now)
        exchange.place = state.live.count
        state.live.append(exchange)
        state.maximumLive = max(state.maximumLive, state.live.count)
        if records { state.log.append(.started(request.url.string, request.priority)) }
        return Begun(
            exchange: exchange, wakes: enqueue(exchange, &state), isLate: state.isThreadOver,
            isWaitedFor: state.waiterCount > 0)
    }

    func cancel(_ exchange: ScriptedExchange) {
        let wakes = state.withLock { state in
            if exchange.isCancelled || exchange.place < 0 { return false }
            exchange.isCancelled = true
            if records { state.log.append(.cancelled(exchange.request.url.string)) }
            return enqueue(exchange, &state)
        }
        if wakes { work.open(with: ()) }
        tellWaiters()
    }

    func setPriority(of exchange: ScriptedExchange, to priority: ImageRequest.Priority) {
        state.withLock { state in
            guard records, exchange.place >= 0 else { return }
            state.log.append(.prioritized(exchange.request.url.string, priority))
        }
        tellWaiters()
    }

    func setLimits(of exchange: ScriptedExchange, to limits: TransportRequest.Limits) {
        state.withLock { _ in exchange.limits = limits }
        wakeAtDeadline(exchange)
        tellWaiters()
    }

    func limits(of exchange: ScriptedExchange) -> TransportRequest.Limits { state.withLock { _ in exchange.limits } }

    func resume(_ exchange: ScriptedExchange) {
        let (wakes, isLegal) = state.withLock { state in
            if exchange.place < 0 { return (false, true) }
            if exchange.isPaused {
                exchange.isPaused = false
                if records { state.log.append(.resumed(exchange.request.url.string)) }
                return (enqueue(exchange, &state), true)
            }
            guard exchange.isDelivering else { return (false, exchange.isCancelled) }
            exchange.isResumedEarly = true
            return (false, true)
        }
        if !isLegal { violation("\(exchange.request.url) was resumed, but it is not paused") }
        if wakes { work.open(with: ()) }
        tellWaiters()
    }

    // MARK: Steps

    /// Makes the exchange's next step on the calling thread. Returns whether it made one.
    @discardableResult
    func step(_ exchange: ScriptedExchange) -> Bool {
        let now = clock?.now()
        let move = state.withLock { takeMove(exchange, now, &$0) }
        if case .rest = move { return false }
        let disposition = deliver(consume move, to: exchange)
        let isWaitedFor = state.withLock { state in
            note(disposition, exchange, &state)
            return state.waiterCount > 0
        }
        if isWaitedFor { waiting.somethingChanged() }
        return true
    }

    /// Moves an exchange until it rests. Equivalent to repeated calls of `step`, with one lock per step instead of two.
    private func run(_ exchange: ScriptedExchange) {
        var disposition: TransportDisposition?
        while true {
            let now = clock?.now()
            let (move, isWaitedFor) = state.withLock { state in
                if let disposition { note(disposition, exchange, &state) }
                let move = takeMove(exchange, now, &state)
                // Marked under the same lock, so that a later change enqueues it again.
                if case .rest = move { exchange.isQueued = false }
                return (move, state.waiterCount > 0)
            }
            if isWaitedFor { waiting.somethingChanged() }
            if case .rest = move { return wakeAtDeadline(exchange) }
            let isEnd = if case .end = move { true } else { false }
            disposition = deliver(consume move, to: exchange)
            // An end that is not recorded cannot be waited for.
            if isEnd, !records { return }
        }
    }

    private func deliver(_ move: consuming Move, to exchange: ScriptedExchange) -> TransportDisposition {
        switch consume move {
        case .end(let result, let receiver): receiver?.didEnd(result)
        case .step(.interim(let head), _): exchange.receiver?.didReceive(interim: head)
        case .step(.head(let head, let expected), _):
            return exchange.receiver?.didReceive(head, expectedBytes: expected) ?? .proceed
        case .step(.bytes(let bytes), let offset):
            return unsafe bytes.withUnsafeBytes { unsafe exchange.receiver?.didReceive($0, at: offset) } ?? .proceed
        case .step(.trailers(let fields), _): exchange.receiver?.didReceive(trailers: fields)
        case .step, .rest: break
        }
        return .proceed
    }

    /// Enqueues a stalled exchange again when one of its timeouts has passed. In manual mode the test moves it.
    private func wakeAtDeadline(_ exchange: ScriptedExchange) {
        guard let clock, !isManual, let deadline = state.withLock({ _ in exchange.deadline }) else { return }
        let wake = { @Sendable [weak self, weak exchange] in
            guard let self, let exchange else { return }
            let wakes = state.withLock { exchange.place >= 0 && enqueue(exchange, &$0) }
            if wakes { work.open(with: ()) }
        }
        _ = clock.schedule(at: deadline.time, wake)
        // The time may have passed meanwhile.
        if clock.now() >= deadline.time { wake() }
    }

    private func takeMove(_ exchange: ScriptedExchange, _ now: MonotonicTime?, _ state: inout State) -> Move {
        precondition(!exchange.isDelivering, "one exchange is moved by one thread at a time, and not by its receiver")
        guard exchange.place >= 0 else { return .rest }
        if exchange.isCancelled { return end(exchange, .failure(Self.cancelled), &state) }
        if state.isShutDown { return end(exchange, .failure(Self.shutDown), &state) }
        if exchange.isPaused { return .rest }
        guard exchange.nextStep < exchange.script.steps.count else {
            let summary = TransportSummary(
                wireBytes: exchange.offset, bodyBytes: exchange.offset,
                reusedConnection: exchange.script.reusesConnection)
            return end(exchange, .success(summary), &state)
        }
        let step = exchange.script.steps[exchange.nextStep]
        var offset = exchange.offset
        switch step {
        case .fail(let error):
            return end(exchange, .failure(error.about(url: exchange.request.url.string)), &state)
        case .stall(let name), .connection(let name):
            if !state.openStalls.contains(name) {
                if exchange.stall == nil { exchange.stalledAt = now }
                exchange.stall = name
                guard let now, let deadline = exchange.deadline, deadline.time <= now else { return .rest }
                return end(exchange, .failure(Self.timedOut(exchange, deadline.timeout, deadline.after)), &state)
            }
            exchange.stall = nil
        case .head(_, let expected?) where expected > exchange.limits.maximumBodyBytes:
            return end(exchange, .failure(Self.tooLarge(exchange)), &state)
        case .bytes(let bytes):
            offset = exchange.offset
            guard Int64(bytes.count) <= exchange.limits.maximumBodyBytes - offset else {
                return end(exchange, .failure(Self.tooLarge(exchange)), &state)
            }
            exchange.offset += Int64(bytes.count)
        case .head, .interim, .trailers: break
        }
        exchange.nextStep += 1
        exchange.isDelivering = true
        return .step(step, offset: offset)
    }

    private func note(_ disposition: TransportDisposition, _ exchange: ScriptedExchange, _ state: inout State) {
        exchange.isDelivering = false
        if exchange.place < 0 {
            if exchange.isTold { return }
            exchange.isTold = true
            state.endsUnderWay -= 1
            return
        }
        switch disposition {
        case .proceed: break
        case .cancel:
            if records, !exchange.isCancelled { state.log.append(.cancelled(exchange.request.url.string)) }
            exchange.isCancelled = true
        case .pause:
            if !exchange.isResumedEarly {
                exchange.isPaused = true
                if records { state.log.append(.paused(exchange.request.url.string)) }
            }
        }
        exchange.isResumedEarly = false
    }

    private func end(
        _ exchange: ScriptedExchange, _ result: Result<TransportSummary, LoadError>, _ state: inout State
    ) -> Move {
        // Move the last exchange to the free index, which avoids a search and a shift.
        let last = state.live.removeLast()
        if last !== exchange {
            state.live[exchange.place] = last
            last.place = exchange.place
        }
        exchange.place = -1
        exchange.stall = nil
        state.endsUnderWay += 1
        if records {
            let code: LoadError.Code? = if case .failure(let error) = result { error.code } else { nil }
            state.log.append(.ended(exchange.request.url.string, code))
        }
        defer { exchange.receiver = nil }
        return .end(result, exchange.receiver)
    }

    // MARK: The thread

    func startThread() {
        JoinableThread(name: "scripted") { self.runQueue() }.detach()
    }

    /// Ends all live exchanges with an error each. Returns after the last end was delivered.
    func stop() {
        let wasShutDown = state.withLock { state in
            defer { state.isShutDown = true }
            return state.isShutDown
        }
        if isManual {
            while let exchange = state.withLock({ $0.live.last }) { step(exchange) }
        } else {
            if !wasShutDown { work.open(with: ()) }
            threadEnd.wait()
        }
    }

    /// Stops without waiting. The thread ends by itself.
    func stopSoon() {
        let isFirst = state.withLock { state in
            defer { state.isShutDown = true }
            return !state.isShutDown
        }
        if isFirst, !isManual { work.open(with: ()) }
    }

    private func runQueue() {
        while true {
            let (batch, isShutDown) = state.withLock { state in
                let batch = state.isShutDown ? state.live : state.queue
                state.queue.removeAll()
                state.isThreadAsleep = batch.isEmpty && !state.isShutDown
                state.isThreadOver = batch.isEmpty && state.isShutDown
                return (batch, state.isShutDown)
            }
            if batch.isEmpty {
                if isShutDown { break }
                work.take()
                continue
            }
            for exchange in batch { run(exchange) }
        }
        threadEnd.open(with: ())
    }

    /// Enqueues an exchange. Returns whether the thread has to be woken.
    private func enqueue(_ exchange: ScriptedExchange, _ state: inout State) -> Bool {
        if isManual || exchange.isQueued || state.isThreadOver { return false }
        exchange.isQueued = true
        state.queue.append(exchange)
        defer { state.isThreadAsleep = false }
        return state.isThreadAsleep
    }

    // MARK: Scripts

    func release(_ name: String) {
        let wakes = state.withLock { state in
            state.openStalls.insert(name)
            return state.live.filter { $0.stall == name }.reduce(false) { enqueue($1, &state) || $0 }
        }
        if wakes { work.open(with: ()) }
    }

    private enum Found {
        case fixed(Script)
        case ask(@Sendable (TransportRequest) -> Script)
    }

    private func takeRoute(for request: TransportRequest, _ state: inout State) -> Found {
        let url = request.url.string
        switch (state.routes.isEmpty ? nil : state.routes[url]) ?? state.fallback {
        case .inOrder(var scripts):
            guard scripts.count > 1 else { return .fixed(scripts[0]) }
            let first = scripts.removeFirst()
            state.routes[url] = .inOrder(scripts)
            return .fixed(first)
        case .dynamic(let body): return .ask(body)
        case nil: return .fixed(Self.unknown)
        }
    }

    // MARK: Waiting

    /// Changes the number of waiters, to which changes are announced.
    func addWaiter(_ count: Int) {
        state.withLock { $0.waiterCount += count }
    }

    private func tellWaiters() {
        if state.withLock({ $0.waiterCount > 0 }) { waiting.somethingChanged() }
    }

    func violation(_ text: String) {
        precondition(!trapsOnViolation, "against the transport's contract: \(text)")
        state.withLock { $0.violations.append(text) }
    }

    private static let unknown = Script.failure(
        .unscripted, "This transport has no script for the URL: give it one with serve(_:_:).")
    private static func timedOut(_ exchange: ScriptedExchange, _ timeout: String, _ time: Duration) -> LoadError {
        LoadError(
            .timedOut, stage: .fetch, url: exchange.request.url.string,
            message: "The script stalled longer than its \(timeout), \(time). Release the stall before, or raise it.")
    }
    private static func tooLarge(_ exchange: ScriptedExchange) -> LoadError {
        LoadError(
            .tooLarge, stage: .fetch, url: exchange.request.url.string,
            message: "The script's body is longer than the limit of \(exchange.limits.maximumBodyBytes) bytes. "
                + "Raise maximumBodyBytes.")
    }
    private static let cancelled = LoadError(
        .cancelled, stage: .fetch, message: "The exchange was cancelled by the one who had started it.")
    private static let shutDown = LoadError(
        .shutDown, stage: .fetch, message: "The transport was shut down. Make a new one to load more.")
}
