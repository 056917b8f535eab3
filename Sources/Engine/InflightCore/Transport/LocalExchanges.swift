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
