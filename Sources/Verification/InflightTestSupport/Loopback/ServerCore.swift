internal import CInflightTLS
internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// A server's state, guarded by a lock, and its threads: one that accepts, and one for each connection.
///
/// The threads reference the core, not the server, so that an unreferenced server can stop.
final class ServerCore: Sendable {
    struct Threads {
        var acceptor: JoinableThread?
        var workers: [Int: JoinableThread] = [:]
        /// The workers whose connections have ended. The accepting thread joins them.
        var ended: [Int] = []
    }

    let listener: Int32
    let configuration: LoopbackServer.Configuration
    let identity: TLSIdentity?
    let state = Guarded(ServerState())
    private let threads = Guarded(Threads())
    let waiting = WaitList()
    /// Wakes the acceptor for the end.
    private let wake: Int32
    private let clock = SystemClock()

    init(listener: Int32, configuration: LoopbackServer.Configuration, identity: TLSIdentity?) {
        self.listener = listener
        self.configuration = configuration
        self.identity = identity
        wake = inflight_wake_descriptor()
        precondition(wake >= 0, "no descriptor is left: status \(errno)")
    }

    deinit {
        close(wake)
    }

    func now() -> MonotonicTime { clock.now() }

    // MARK: State

    /// Changes the state, then completes the waiters whose condition holds.
    func change<Result: Sendable>(_ body: @Sendable (inout ServerState, MonotonicTime) -> Result) -> Result {
        let time = now()
        let result = state.withLock { body(&$0, time) }
        waiting.somethingChanged()
        return result
    }

    func isTrue(_ condition: LoopbackServer.Condition) -> Bool { state.withLock { $0.isTrue(condition) } }

    var summary: String { state.withLock { $0.summary } }

    /// Wakes connections. Runs under the lock, because a descriptor is closed only after its connection left the table.
    func release(_ name: String, all: Bool) {
        change { state, time in
            let woken = all ? state.released(name, at: time) : [state.releasedOne(name, at: time)].compactMap { $0 }
            for descriptor in woken { Self.signal(descriptor) }
        }
    }

    static func signal(_ descriptor: Int32) {
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, 8)
    }

    static func drain(_ descriptor: Int32) {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, 8)
    }

    // MARK: Threads

    func start() {
        let acceptor = JoinableThread(name: "loopback-accept") { self.acceptLoop() }
        threads.withLock { $0.acceptor = acceptor }
    }

    /// Stops the server. Idempotent; returns when every thread has ended.
    func stop() {
        let wasStopping = change { state, _ in
            defer { state.isStopping = true }
            for connection in state.connections.values { Self.signal(connection.wake) }
            return state.isStopping
        }
        if wasStopping { return }
        waiting.close()
        Self.signal(wake)
        end(
            threads.withLock { threads in
                defer { threads.acceptor = nil }
                return threads.acceptor
            })
        // No connection is added once the acceptor has ended.
        for worker in takeWorkers() { end(worker) }
        close(listener)
        // The captures of the scripts are released with them.
        let scripts = state.withLock { state in
            defer {
                state.routes = [:]
                state.fallback = nil
            }
            return (state.routes, state.fallback)
        }
        withExtendedLifetime(scripts) {}
    }

    private func end(_ thread: JoinableThread?) {
        // A script may hold the last reference to its server, and a thread cannot join itself.
        if thread?.isCurrent == true { thread?.detach() } else { thread?.join() }
    }

    private func takeWorkers() -> [JoinableThread] {
        threads.withLock { threads in
            defer { threads.workers = [:] }
            return Array(threads.workers.values)
        }
    }

    private func acceptLoop() {
        while true {
            joinEnded()
            if state.withLock({ $0.isStopping }) { return }
            waitForConnection()
            Self.drain(wake)
            while let descriptor = Socket.accept(listener) { serve(descriptor) }
        }
    }

    private func waitForConnection() {
        var watched = [
            pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        _ = unsafe poll(&watched, nfds_t(watched.count), -1)
    }

    private func joinEnded() {
        let ended = threads.withLock { threads in
            defer { threads.ended = [] }
            return threads.ended.compactMap { threads.workers.removeValue(forKey: $0) }
        }
        for thread in ended { thread.join() }
    }

    private func serve(_ descriptor: Int32) {
        switch configuration.greeting {
        case .serve, .silence: break
        case .reset: Socket.resetOnClose(descriptor); fallthrough
        case .close:
            change { state, time in
                let connection = state.connectionOpened(wake: -1, at: time)
                state.connectionClosed(connection, byPeer: false, at: time)
            }
            close(descriptor)
            return
        }
        let wake = inflight_wake_descriptor()
        guard wake >= 0 else {
            close(descriptor)
            return
        }
        let number = change { state, time in state.connectionOpened(wake: wake, at: time) }
        let worker = ConnectionWorker(core: self, connection: number, descriptor: descriptor, wake: wake)
        // The thread is in the table before it can report its end.
        threads.withLock { threads in
            threads.workers[number] = JoinableThread(name: "loopback-\(number)") {
                worker.run()
                self.threads.withLock { $0.ended.append(number) }
            }
        }
    }
}
