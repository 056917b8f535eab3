internal import CInflightCurl
internal import Glibc
internal import InflightConcurrency
internal import InflightCore

/// Passes commands from other threads to the event loop, and wakes the loop if it sleeps.
///
/// Letters that arrive while the loop is awake, or is being woken, cost one lock each and no system call.
final class Mailbox: Sendable {
    enum Command: Sendable {
        case start(Exchange)
        case cancel(Exchange)
        case resume(Exchange)
        case prioritize(Exchange, ImageRequest.Priority)
        case limit(Exchange, TransportRequest.Limits)
        /// The system's resolver has answered.
        case resolved(String, Resolver.Outcome)
    }

    /// When the loop ends.
    enum Ending: Sendable {
        case never
        /// When the last exchange has ended, since no more can be started.
        case whenIdle
        /// At once.
        case now
    }

    private struct State {
        var commands: [Command] = []
        var ending = Ending.never
        var isRunning = false
        var isAsleep = false
        /// Set while a loop runs. Releasing it ends the thread.
        var thread: WorkerThreads?
        var waiters: [Bridge] = []
    }

    private enum Action {
        case nothing
        case wake
        case run(on: WorkerThreads)
    }

    let settings: Settings
    /// An eventfd. Its count is never read, since the loop watches it edge-triggered.
    let wakeDescriptor: Int32
    /// The loop's epoll descriptor. Like ``wakeDescriptor`` it is created before the first exchange, since a failure
    /// could not be reported later.
    let epollDescriptor: Int32
    private let state = Guarded(State())

    /// - Throws: ``LoadError/Code/tooManyOpenFiles``.
    init(settings: Settings) throws(LoadError) {
        self.settings = settings
        wakeDescriptor = inflight_wake_make()
        epollDescriptor = inflight_epoll_make()
        guard wakeDescriptor >= 0, epollDescriptor >= 0 else {
            if wakeDescriptor >= 0 { close(wakeDescriptor) }
            throw .tooManyOpenFiles(.request)
        }
    }

    deinit {
        close(wakeDescriptor)
        close(epollDescriptor)
    }

    /// Posts a command from any thread. The first exchange starts the loop.
    func post(_ command: Command) {
        let action: Action = state.withLock { state in
            if state.isRunning {
                state.commands.append(command)
                return Self.wakeUp(&state)
            }
            // Without a loop, there is no exchange to cancel or resume.
            guard case .start = command else { return .nothing }
            state.commands.append(command)
            state.isRunning = true
            let thread = WorkerThreads(count: 1, name: "inflight-curl")
            state.thread = thread
            return .run(on: thread)
        }
        perform(action)
    }

    func endWhenIdle() {
        let action: Action = state.withLock { state in
            if case .never = state.ending { state.ending = .whenIdle }
            return Self.wakeUp(&state)
        }
        perform(action)
    }

    func shutDown() async {
        await Bridge.wait { end in
            let action: Action? = state.withLock { state in
                state.ending = .now
                guard state.isRunning else { return nil }
                state.waiters.append(end)
                return Self.wakeUp(&state)
            }
            if let action { perform(action) } else { end.open() }
        }
    }

    private static func wakeUp(_ state: inout State) -> Action {
        guard state.isAsleep else { return .nothing }
        state.isAsleep = false
        return .wake
    }

    private func perform(_ action: Action) {
        switch action {
        case .nothing: break
        case .wake: inflight_wake(wakeDescriptor)
        case .run(let thread):
            thread.run {
                if let problem = unsafe inflight_curl_load() {
                    self.refuseAll(because: Message.cleaned(unsafe String(cString: problem)))
                } else {
                    EventLoop(mailbox: self).run()
                }
            }
        }
    }

    /// Fails all exchanges, because there is no libcurl to run them.
    private func refuseAll(because why: String) {
        var commands: [Command] = []
        repeat {
            _ = take(into: &commands)
            for case .start(let exchange) in commands {
                guard let receiver = exchange.receiver else { continue }
                exchange.receiver = nil
                let error = LoadError(
                    .unsupportedScheme, stage: .fetch, url: exchange.request.url.string,
                    message: "libcurl cannot be used (\(why)). "
                        + "Install version 7.84 or later, Debian's package libcurl4.")
                TransportEnding.deliver([TransportEnding(receiver: receiver, result: .failure(error))])
            }
            commands.removeAll()
        } while !ended()
    }

    // MARK: The loop's side

    /// Takes all commands into `buffer`, and keeps the emptied buffer for the next ones.
    func take(into buffer: inout [Command]) -> Ending {
        state.withLock { state in
            swap(&state.commands, &buffer)
            return state.ending
        }
    }

    /// Returns whether the loop may sleep now, which it may not if commands are waiting.
    func prepareToSleep(seen ending: Ending) -> Bool {
        state.withLock { state in
            guard state.commands.isEmpty, state.ending == ending else { return false }
            state.isAsleep = true
            return true
        }
    }

    func didWake() {
        state.withLock { $0.isAsleep = false }
    }

    /// The loop has finished. Returns false if commands have arrived meanwhile and it must continue.
    func ended() -> Bool {
        let parting: (WorkerThreads?, [Bridge])? = state.withLock { state in
            guard state.commands.isEmpty else { return nil }
            state.isRunning = false
            defer {
                state.thread = nil
                state.waiters = []
            }
            return (state.thread, state.waiters)
        }
        guard let parting else { return false }
        for waiter in parting.1 { waiter.open() }
        return true
    }
}
