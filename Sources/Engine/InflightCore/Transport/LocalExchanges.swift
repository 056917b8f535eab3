internal import InflightConcurrency

/// The exchanges of a transport that needs no network, and the few threads on which they take turns.
///
/// Exchanges retain it until they have ended.
final class LocalExchanges: Sendable {
    private struct State {
        var active: [ObjectIdentifier: LocalExchange] = [:]
        var threads: WorkerThreads?
        /// A reference to itself while exchanges are in flight.
        var keeper: LocalExchanges?
        var isShutDown = false
        var waiters: [Bridge] = []
    }

    let clock: any EngineClock
    private let count: Int
    private let name: String
    private let state = Guarded(State())

    init(threads count: Int, name: String, clock: any EngineClock) {
        self.clock = clock
        self.count = count
        self.name = name
    }

    func start(
        _ request: TransportRequest, _ receiver: any TransportReceiver, opening: @escaping LocalExchange.Opening
    ) -> any Transfer {
        let exchange = LocalExchange(request, receiver, owner: self, opening: opening)
        let isShutDown = state.withLock { state in
            state.active[ObjectIdentifier(exchange)] = exchange
            state.keeper = self
            if state.threads == nil { state.threads = WorkerThreads(count: count, name: name) }
            return state.isShutDown
        }
        if isShutDown { exchange.shutDown() }
        schedule(exchange)
        return exchange
    }

    /// Enqueues the next turn of the exchange.
    func schedule(_ exchange: LocalExchange) {
        let threads = state.withLock { $0.threads }
        threads?.run { exchange.takeTurn() }
    }

    func didEnd(_ exchange: LocalExchange) {
        let parting: (keeper: LocalExchanges?, threads: WorkerThreads?, waiters: [Bridge]) =
            state.withLock { state in
                state.active[ObjectIdentifier(exchange)] = nil
                guard state.active.isEmpty else { return (nil, nil, []) }
                defer {
                    state.keeper = nil
                    if state.isShutDown { state.threads = nil }
                    state.waiters = []
                }
                return (state.keeper, state.isShutDown ? state.threads : nil, state.waiters)
            }
        for waiter in parting.waiters { waiter.open() }
    }

    func shutdown() async {
        await Bridge.wait { end in
            let (active, idle): ([LocalExchange], WorkerThreads?) = state.withLock { state in
                state.isShutDown = true
                guard state.active.isEmpty else {
                    state.waiters.append(end)
                    return (Array(state.active.values), nil)
                }
                defer { state.threads = nil }
                return ([], state.threads)
            }
            for exchange in active { exchange.shutDown() }
            if active.isEmpty {
                withExtendedLifetime(idle) { end.open() }
            }
        }
    }
}

/// An exchange that needs no network. It runs in turns on the threads of its ``LocalExchanges``, never on two at once.
// Unchecked: `reader`, `receiver` and the counters are used only by the running turn. `state` ensures that there is at
// most one, and turns are ordered by the lock of the threads' queue.
final class LocalExchange: Transfer, @unchecked Sendable {
    typealias Opening = @Sendable (TransportRequest) throws(LoadError) -> any LocalReader

    private struct State {
        /// The reason to stop, if any.
        var stop: LoadError?
        var isPaused = false
        /// Whether ``resume()`` was called before the pause was recorded.
        var isResumed = false
        var maximumBodyBytes: Int64
    }

    /// The maximum number of bytes read in one turn, so that a long file does not delay the others.
    private static let bytesPerTurn = 1 << 20
    private static let bytesPerRead = 1 << 16

    private let request: TransportRequest
    private unowned let owner: LocalExchanges
    private let deadline: MonotonicTime
    private let state: Guarded<State>

    private enum Source {
        case closed(Opening)
        case open(any LocalReader)
        case done
    }

    private var source: Source
    private var receiver: (any TransportReceiver)?
    private var bodyBytes: Int64 = 0

    init(
        _ request: TransportRequest, _ receiver: any TransportReceiver, owner: LocalExchanges,
        opening: @escaping Opening
    ) {
        self.request = request
        self.receiver = receiver
        self.owner = owner
        source = .closed(opening)
        state = Guarded(State(maximumBodyBytes: request.limits.maximumBodyBytes))
        deadline = request.limits.totalTimeout.map { owner.clock.now() + $0 } ?? .distantFuture
    }

    func setLimits(_ limits: TransportRequest.Limits) {
        state.withLock { $0.maximumBodyBytes = limits.maximumBodyBytes }
    }

    private var maximumBodyBytes: Int64 { state.withLock { $0.maximumBodyBytes } }

    func cancel() {
        stop(LoadError.local(.cancelled, request, "The request was cancelled."))
    }

    func resume() {
        let isDue = state.withLock { state in
            guard state.isPaused else {
                state.isResumed = true
                return false
            }
            state.isPaused = false
            return true
        }
        if isDue { owner.schedule(self) }
    }

    /// Ends the exchange with `error` in its next turn.
    func stop(_ error: LoadError) {
        let isDue = state.withLock { state in
            if state.stop == nil { state.stop = error }
            defer { state.isPaused = false }
            return state.isPaused
        }
        if isDue { owner.schedule(self) }
    }

    func shutDown() {
        stop(LoadError.local(.shutDown, request, "The transport was shut down. Create a new one."))
    }

    // MARK: Turns

    private enum Step {
        case proceed
        case wait
        case end
    }

    /// Runs one turn, on one of the threads.
    func takeTurn() {
        do throws(LoadError) {
            switch try work() {
            case .proceed: owner.schedule(self)
            case .wait: break
            case .end: end(.success(TransportSummary(wireBytes: bodyBytes, bodyBytes: bodyBytes)))
            }
        } catch {
            end(.failure(error))
        }
    }

    private func work() throws(LoadError) -> Step {
        try checkStop()
        let reader: any LocalReader
        switch source {
        case .done: return .wait
        case .open(let known): reader = known
        case .closed(let opening):
            reader = try open(opening)
            source = .open(reader)
            if try !continues({ $0.didReceive(reader.head, expectedBytes: reader.length) }) { return .wait }
        }
        if request.method == "HEAD" { return .end }
        let size = min(Self.bytesPerRead, Int(clamping: max(1, reader.length ?? .max)))
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer { unsafe room.deallocate() }
        var read = 0
        while read < Self.bytesPerTurn {
            try checkStop()
            let count = unsafe try reader.read(into: room)
            if count == 0 { return .end }
            read += count
            guard Int64(count) <= maximumBodyBytes - bodyBytes else { throw tooLarge() }
            let offset = bodyBytes
            bodyBytes += Int64(count)
            let chunk = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
            if try !continues({ unsafe $0.didReceive(chunk, at: offset) }) { return .wait }
        }
        return .proceed
    }

    private func open(_ opening: Opening) throws(LoadError) -> any LocalReader {
        guard request.method == "GET" || request.method == "HEAD" else {
            throw .local(
                .invalidRequest, request, "Unsupported method for a \(request.url.scheme): URL. Use GET or HEAD.")
        }
        let reader = try opening(request)
        if let length = reader.length, length > maximumBodyBytes { throw tooLarge() }
        return reader
    }

    private func tooLarge() -> LoadError {
        .local(
            .tooLarge, request,
            "The data exceeds the limit of \(maximumBodyBytes) bytes. Raise maximumBodyBytes."
        )
    }

    private func checkStop() throws(LoadError) {
        if let error = state.withLock({ $0.stop }) { throw error }
        if deadline != .distantFuture, owner.clock.now() >= deadline {
            throw .local(.timedOut, request, "The request timed out. Raise totalTimeout.")
        }
    }

    /// Calls the receiver and applies its disposition. Returns false if it has paused, and a later turn continues.
    private func continues(_ tell: (any TransportReceiver) -> TransportDisposition) throws(LoadError) -> Bool {
        guard let receiver else { return false }
        state.withLock { $0.isResumed = false }
        switch tell(receiver) {
        case .proceed: return true
        case .cancel: throw .local(.cancelled, request, "The request was cancelled.")
        case .pause:
            return state.withLock { state in
                if state.stop != nil || state.isResumed { return true }
                state.isPaused = true
                return false
            }
        }
    }

    private func end(_ result: Result<TransportSummary, LoadError>) {
        let receiver = receiver
        self.receiver = nil
        source = .done
        receiver?.didEnd(result)
        owner.didEnd(self)
    }
}

/// The source of bytes for an exchange that needs no network. Created and used by one thread at a time.
protocol LocalReader: AnyObject {
    var head: ResponseHead { get }
    /// The length of the body, if known.
    var length: Int64? { get }

    /// Reads the next bytes into the beginning of `room`.
    /// - Returns: the number of bytes read; 0 at the end.
    func read(into room: UnsafeMutableRawBufferPointer) throws(LoadError) -> Int
}

extension LoadError {
    /// Returns the error of a local exchange.
    static func local(_ code: Code, _ request: TransportRequest, _ message: String) -> LoadError {
        // A data: URL may be megabytes long. Its beginning is enough for an error.
        let url = request.url.string
        return LoadError(code, stage: .fetch, url: url.utf8.count > 256 ? url.prefix(80) + "…" : url, message: message)
    }
}
