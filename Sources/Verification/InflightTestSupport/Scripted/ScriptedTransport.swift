public import InflightConcurrency
public import InflightCore

/// A transport without a network. Every exchange follows a script, on the transport's own thread or moved by the test,
/// and the engine's calls are recorded and checked.
///
/// ```swift
/// let transport = ScriptedTransport(.manual)
/// transport.serve("https://a.example/1.jpg", .ok(image, chunks: [100]))
/// // The engine starts the exchange…
/// transport.step("https://a.example/1.jpg")     // the head, on this thread
/// transport.step("https://a.example/1.jpg")     // 100 bytes
/// transport.finish("https://a.example/1.jpg")   // all the rest
/// #expect(transport.events == [.started(url, .normal), .ended(url, nil)])
/// ```
///
/// In ``Mode/automatic`` each exchange runs on one thread until it ends, stalls or pauses, in the order in which they
/// were started. In ``Mode/manual`` nothing moves until the test calls for it, not even a cancelled exchange's end, and
/// receivers are called on the calling thread. Any method may be called from any thread, but only one thread may move
/// an exchange at a time.
///
/// A body longer than ``TransportRequest/Limits/maximumBodyBytes`` fails with ``LoadError/Code/tooLarge``, as over
/// HTTP. With a clock, an exchange that waits at a stall of its script fails with ``LoadError/Code/timedOut`` when one
/// of its timeouts has passed: the stall timeout, or the connect timeout if it waits for its connection
/// (``Script/connecting(_:)``), counted from the time at which it reached the stall, or the total timeout, from its
/// start. Without a clock no time passes, and timeouts do not expire. A pipeline measures minimum rates and total times
/// itself, by its own clock.
public final class ScriptedTransport: Transport {
    /// The way in which exchanges make progress.
    public enum Mode: Sendable, Hashable {
        /// On the transport's own thread, until they end, stall or pause.
        case automatic
        /// By the test's calls alone, on the calling thread.
        case manual
    }

    /// A call of the engine, or the end of an exchange. Each names the URL of its exchange.
    public enum Event: Sendable, Hashable {
        /// An exchange was started, with this priority.
        case started(String, ImageRequest.Priority)
        /// An exchange was cancelled, by ``Transfer/cancel()`` or by the receiver's disposition. Only the first
        /// cancellation is recorded.
        case cancelled(String)
        /// The receiver's disposition has paused an exchange.
        case paused(String)
        /// A paused exchange was resumed by ``Transfer/resume()``.
        case resumed(String)
        /// The priority was set by ``Transfer/setPriority(_:)``, before the end of the exchange.
        case prioritized(String, ImageRequest.Priority)
        /// An exchange has ended, with the error's code if it failed.
        case ended(String, LoadError.Code?)
    }

    /// A live exchange, for tests that choose which one moves next.
    public struct Exchange: Sendable {
        let exchange: ScriptedExchange
        let core: ScriptedCore

        /// The request with which the exchange was started.
        public var request: TransportRequest { exchange.request }

        /// The limits of the exchange: those of its request, or the last of ``Transfer/setLimits(_:)``.
        public var limits: TransportRequest.Limits { core.limits(of: exchange) }

        /// Makes the next step on this thread, which calls the receiver.
        ///
        /// - Returns: `false` if the exchange is stalled, paused or over.
        @discardableResult
        public func step() -> Bool { core.step(exchange) }
    }

    /// The URL schemes that this transport serves, in lower case. A start with another one is a violation.
    public let schemes: Set<String>
    let core: ScriptedCore

    /// Creates a transport without scripts. Exchanges fail until scripts are set.
    ///
    /// - Parameters:
    ///   - mode: the way in which exchanges make progress.
    ///   - schemes: the URL schemes that it serves, in lower case.
    ///   - clock: the clock of the exchanges' timeouts, usually that of the pipeline; if nil, they do not expire. In
    ///     manual mode an exchange that has timed out ends with its next step.
    ///   - records: whether ``events`` are recorded; benchmarks disable it.
    ///   - trapsOnViolation: whether a call that violates the contract traps with a message. Otherwise violations are
    ///     collected in ``violations``.
    public init(
        _ mode: Mode = .automatic, schemes: Set<String> = ["http", "https"], clock: (any EngineClock)? = nil,
        records: Bool = true, trapsOnViolation: Bool = true
    ) {
        self.schemes = schemes
        core = ScriptedCore(
            isManual: mode == .manual, clock: clock, records: records, trapsOnViolation: trapsOnViolation)
        if mode == .automatic { core.startThread() }
    }

    deinit {
        core.stopSoon()
    }

    // MARK: Transport

    /// Starts an exchange by the script of its URL. Returns at once. In manual mode nothing happens until the test
    /// moves it.
    public func start(_ request: TransportRequest, receiver: any TransportReceiver) -> any Transfer {
        core.start(request, receiver, schemes: schemes)
    }

    /// Ends all live exchanges with ``LoadError/Code/shutDown``, each unless it was cancelled, and returns when the
    /// last end was delivered. Blocks the calling thread meanwhile. In manual mode receivers are called on it.
    ///
    /// Exchanges that are started later end in the same way; in manual mode, when they are moved.
    public func shutdown() async {
        core.stop()
    }

    // MARK: Scripts

    /// Runs every exchange with this URL by this script from now on.
    public func serve(_ url: String, _ script: Script) { serve(url, inOrder: [script]) }

    /// Runs the first exchange with this URL by the first script, and so on. The last one is repeated. An empty array
    /// traps.
    public func serve(_ url: String, inOrder scripts: [Script]) {
        precondition(!scripts.isEmpty, "give at least one script for \(url)")
        core.state.withLock { $0.routes[url] = .inOrder(scripts) }
    }

    /// Runs exchanges with this URL by the script that `body` returns for each request. It is called inside
    /// ``start(_:receiver:)``, with no lock held.
    public func serve(_ url: String, _ body: @escaping @Sendable (TransportRequest) -> Script) {
        core.state.withLock { $0.routes[url] = .dynamic(body) }
    }

    /// Sets the scripts of all URLs without their own. By default they fail with
    /// ``LoadError/Code/unscripted``, which the engine does not retry.
    public func serveOthers(_ body: @escaping @Sendable (TransportRequest) -> Script) {
        core.state.withLock { $0.fallback = .dynamic(body) }
    }

    /// Sets one script for all URLs without their own, the fastest way to serve many.
    public func serveOthers(_ script: Script) {
        core.state.withLock { $0.fallback = .inOrder([script]) }
    }

    /// Lets all exchanges pass the stall of that name, those that wait there and later ones.
    public func release(_ name: String) { core.release(name) }

    // MARK: Manual mode

    /// The live exchanges, in the order in which they were started.
    public var exchanges: [Exchange] {
        core.state.withLock { $0.live }.sorted { $0.number < $1.number }.map { Exchange(exchange: $0, core: core) }
    }

    /// Makes one step of the oldest live exchange with this URL that can make one. Manual mode only; traps otherwise.
    ///
    /// - Returns: `false` if there is none.
    @discardableResult
    public func step(_ url: String) -> Bool {
        checkManual()
        return exchanges.first { $0.request.url.string == url && $0.step() } != nil
    }

    /// Moves the oldest live exchange with this URL until it stalls, pauses or ends. Manual mode only; traps otherwise.
    ///
    /// - Returns: whether it moved.
    @discardableResult
    public func finish(_ url: String) -> Bool {
        checkManual()
        guard let exchange = exchanges.first(where: { $0.request.url.string == url }), exchange.step() else {
            return false
        }
        while exchange.step() {}
        return true
    }

    /// Moves all exchanges, one step each in turn, until none moves any more, including those started meanwhile. Manual
    /// mode only; traps otherwise.
    ///
    /// - Returns: the number of steps.
    @discardableResult
    public func finishAll() -> Int {
        checkManual()
        var count = 0
        while true {
            let moved = exchanges.count { $0.step() }
            if moved == 0 { return count }
            count += moved
        }
    }

    private func checkManual() {
        precondition(core.isManual, "only a transport in manual mode is moved by hand")
    }

    // MARK: Records

    /// The events so far, in order; empty if they are not recorded.
    public var events: [Event] { core.state.withLock { $0.log } }

    /// The URLs of all exchanges, in the order in which they were started. Needs recorded events.
    public var startedURLs: [String] {
        events.compactMap { if case .started(let url, _) = $0 { url } else { nil } }
    }

    /// The URLs of the exchanges that were cancelled, in order. Needs recorded events.
    public var cancelledURLs: [String] {
        events.compactMap { if case .cancelled(let url) = $0 { url } else { nil } }
    }

    /// The number of exchanges started so far. Counted even if events are not recorded.
    public var startCount: Int { core.state.withLock { $0.startCount } }
    /// The number of exchanges that were started and have not ended.
    public var liveCount: Int { core.state.withLock { $0.live.count } }
    /// The maximum number of exchanges that were live at once.
    public var maximumLiveCount: Int { core.state.withLock { $0.maximumLive } }
    /// The engine's violations of the contract, as sentences; empty if they trap.
    public var violations: [String] { core.state.withLock { $0.violations } }

    /// Waits until at least `count` exchanges were started.
    ///
    /// - Throws: ``WaitFailure`` when `limit` has passed.
    public func waitForStarts(_ count: Int, within limit: Duration = .seconds(10)) async throws(WaitFailure) {
        core.addWaiter(1)
        defer { core.addWaiter(-1) }
        try await core.waiting.wait(for: "\(count) exchanges", within: limit, seen: { seen }) { [core] in
            core.state.withLock { $0.startCount >= count }
        }
    }

    /// Waits until at least `count` exchanges were started. Blocks the calling thread.
    ///
    /// - Throws: ``WaitFailure`` when `limit` has passed.
    @available(*, noasync)
    public func blockForStarts(_ count: Int, within limit: Duration = .seconds(10)) throws(WaitFailure) {
        core.addWaiter(1)
        defer { core.addWaiter(-1) }
        try core.waiting.wait(for: "\(count) exchanges", within: limit, seen: { seen }) { [core] in
            core.state.withLock { $0.startCount >= count }
        }
    }

    /// Waits until `event` has happened at least `count` times. An end counts once it is delivered to the receiver.
    /// Needs recorded events.
    ///
    /// - Throws: ``WaitFailure`` when `limit` has passed.
    public func wait(
        for event: Event, count: Int = 1, within limit: Duration = .seconds(10)
    ) async throws(WaitFailure) {
        core.addWaiter(1)
        defer { core.addWaiter(-1) }
        try await core.waiting.wait(for: "\(event)", within: limit, seen: { seen }) { [core] in
            core.state.withLock { state in
                if case .ended = event, state.endsUnderWay > 0 { return false }
                return state.log.count { $0 == event } >= count
            }
        }
    }

    private var seen: String {
        "\(startCount) were started, \(liveCount) are live. The last events: \(events.suffix(20))"
    }
}

extension LoadError.Code {
    /// A ``ScriptedTransport`` has no script for the URL.
    public static let unscripted = Self(rawValue: "unscripted")
}
