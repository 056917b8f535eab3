/// Work that asks its caller a question about each of many entries, on the caller's queue, and goes on from the answer.
///
/// ```swift
/// let cleaning = CallbackChain(files, name: "cleaning", on: .queue(queue)) { file in
///     file.isOld ? Choice.delete : .keep                   // on `queue`
/// } acting: { file, answer in
///     if answer == .delete { remove(file) }               // on the chain's own thread; nil: nobody answered
///     return .goOn
/// }
/// cleaning.setEndHandler { summary in … }
/// cleaning.start()
/// ```
///
/// - Thread: questions and the ending on the callback queue; acting on a thread of the chain's own, with no lock held.
///   Methods may be called from any thread.
/// - Order: one entry after the other: asked, acted on, then the next. One ending, after the last.
/// - Dropping: where the queue drops a question (somebody cancelled everything on it), the chain acts with `nil` and goes
///   on. Where it drops the ending, that is one that nobody hears.
/// - Cancellation: as ``Gate``: after ``cancel()`` on the serial callback queue no question and no ending starts; an entry
///   that is being acted on is not interrupted, and no other is begun.
/// - Release: kept alive while it runs. All closures are released on the callback queue, or inside ``cancel()`` where
///   nothing of the chain runs.
/// - Cost: two hops for each entry, some 10 µs.
public final class CallbackChain<Entry: Sendable, Answer: Sendable>: Cancelling {
    public enum Next: Sendable {
        case goOn
        /// No more entries: the chain ends here.
        case stop
    }

    private struct Closures: Sendable {
        var question: @Sendable (Entry) -> Answer
        var acting: @Sendable (Entry, Answer?) -> Next
    }

    private struct State: Sendable {
        var machine: ChainMachine
        var summary = ChainSummary()
    }

    private let entries: [Entry]
    private let gate: Gate<Never, ChainSummary>
    private let state: Guarded<State>
    private let closures: ReleaseBox<Closures>
    private let threads: WorkerThreads

    /// - Parameters:
    ///   - name: of the thread; 15 bytes of it are kept.
    ///   - question: asked about each entry, on `queue`.
    ///   - acting: goes on from the answer, on the chain's thread; `nil` where the queue dropped the question.
    public init(
        _ entries: some Sequence<Entry>, name: String, on queue: CallbackQueue,
        asking question: @escaping @Sendable (Entry) -> Answer,
        acting: @escaping @Sendable (Entry, Answer?) -> Next
    ) {
        self.entries = Array(entries)
        gate = Gate(on: queue)
        state = Guarded(State(machine: ChainMachine(count: self.entries.count)))
        closures = ReleaseBox(Closures(question: question, acting: acting))
        threads = WorkerThreads(count: 1, name: name)
    }

    deinit {
        gate.queue.release(closures)
    }

    /// Sets, replaces or clears what is told the ending, on the callback queue.
    public func setEndHandler(_ handler: (@Sendable (ChainSummary) -> Void)?) {
        gate.setEndHandler(handler)
    }

    /// Begins. The first call counts; without effect after ``cancel()``.
    public func start() {
        perform(state.withLock { $0.machine.started() })
    }

    /// Idempotent; any thread; latched before the start. Without effect after the ending was told.
    public func cancel() {
        gate.cancel()
        let phase = state.withLock { state -> ChainMachine.Phase in
            let phase = state.machine.phase
            _ = state.machine.cancelled()
            return phase
        }
        switch phase {
        case .idle, .asking: closures.empty()
        case .working, .ended, .cancelled: break
        }
    }

    public var isCancelled: Bool { gate.isCancelled }

    private func perform(_ action: ChainMachine.Action, answer: Answer? = nil) {
        switch action {
        case .nothing: break
        case .ask(let index): ask(index)
        case .work(let index): threads.run { self.act(index, answer) }
        case .end:
            gate.end(with: state.withLock { $0.summary })
            gate.queue.release(closures)
        }
    }

    private func ask(_ index: Int) {
        let question = DroppableWork(run: { self.answer(index) }, dropped: { self.go(on: index, with: nil) })
        gate.queue.submit { question.run() }
    }

    /// On the callback queue.
    private func answer(_ index: Int) {
        guard state.withLock({ $0.machine.wants(question: index) }) else { return }
        guard let question = closures.content?.question else { return }
        go(on: index, with: question(entries[index]))
    }

    private func go(on index: Int, with answer: Answer?) {
        let action = state.withLock { state in
            let action = state.machine.questionEnded(index)
            if action == .work(index) {
                if answer == nil { state.summary.unanswered += 1 } else { state.summary.answered += 1 }
            }
            return action
        }
        perform(action, answer: answer)
    }

    /// On the chain's thread.
    private func act(_ index: Int, _ answer: Answer?) {
        guard state.withLock({ $0.machine.phase == .working(index) }) else {
            return gate.queue.release(closures)
        }
        let next = closures.content?.acting(entries[index], answer) ?? .stop
        let action = state.withLock { $0.machine.workReturned(index, stops: next == .stop) }
        if action == .nothing { gate.queue.release(closures) }
        perform(action)
    }
}

/// How a ``CallbackChain`` went.
public struct ChainSummary: Hashable, Sendable {
    /// How many entries had an answer.
    public var answered: Int
    /// How many were acted on without one.
    public var unanswered: Int

    public init(answered: Int = 0, unanswered: Int = 0) {
        self.answered = answered
        self.unanswered = unanswered
    }
}
