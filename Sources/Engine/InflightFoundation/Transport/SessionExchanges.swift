internal import Foundation
internal import InflightConcurrency
internal import InflightCore

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// A session, and its exchanges in flight, which retain it until they have ended.
final class SessionExchanges: Sendable {
    private struct State {
        var active: [ObjectIdentifier: SessionExchange] = [:]
        var isShutDown = false
        var isInvalidated = false
        var waiters: [Bridge] = []
    }

    let session: URLSession
    let delegate: URLSessionTransport.SessionDelegate
    let names = HostLookups()
    /// The thread that calls the session and its tasks. Such calls block until the session, which may be waiting for
    /// its delegate, is free. So they must never be made on the delegate queue.
    private let thread = WorkerThreads(count: 1, name: "inflight-session")
    private let isOwn: Bool
    private let state = Guarded(State())

    init(session: URLSession, delegate: URLSessionTransport.SessionDelegate, isOwn: Bool) {
        self.session = session
        self.delegate = delegate
        self.isOwn = isOwn
    }

    deinit {
        invalidate()
    }

    /// Runs `work` on the session's delegate queue, where everything about an exchange happens.
    func run(_ work: @escaping @Sendable () -> Void) {
        session.delegateQueue.addOperation(work)
    }

    /// Calls the session, or one of its tasks, on a thread that may block.
    func call(_ work: @escaping @Sendable () -> Void) {
        thread.run(work)
    }

    func start(_ request: TransportRequest, _ receiver: any TransportReceiver) -> any Transfer {
        let exchange = SessionExchange(request, receiver, owner: self)
        let isShutDown = state.withLock { state in
            state.active[ObjectIdentifier(exchange)] = exchange
            return state.isShutDown
        }
        run { exchange.begin(isShutDown: isShutDown) }
        return exchange
    }

    func didEnd(_ exchange: SessionExchange) {
        let waiters: [Bridge] = state.withLock { state in
            state.active[ObjectIdentifier(exchange)] = nil
            guard state.active.isEmpty else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        if !waiters.isEmpty { invalidate() }
        for waiter in waiters { waiter.open() }
    }

    func shutdown() async {
        let end = Bridge()
        let active: [SessionExchange] = state.withLock { state in
            state.isShutDown = true
            if !state.active.isEmpty { state.waiters.append(end) }
            return Array(state.active.values)
        }
        for exchange in active { exchange.shutDown() }
        if active.isEmpty { return invalidate() }
        await end.wait()
    }

    private func invalidate() {
        let isFirst = state.withLock { state in
            defer { state.isInvalidated = true }
            return !state.isInvalidated
        }
        // Later starts never reach the session, which traps if it was invalidated.
        if isOwn, isFirst { call { [session] in session.finishTasksAndInvalidate() } }
    }
}
