/// Work that asks its caller a question about each of many entries, on the callback queue, and acts on each answer.
///
/// ```swift
/// let cleaning = CallbackChain(files, name: "cleaning", on: .queue(queue)) { file in
///     file.isOld ? Choice.delete : .keep                   // on `queue`
/// } acting: { file, answer in
///     if answer == .delete { remove(file) }               // on the chain's own thread; nil if dropped
///     return .proceed
/// }
/// cleaning.setEndHandler { summary in … }
/// cleaning.start()
/// ```
///
/// - Thread: questions and the ending run on the callback queue, acting on the chain's own thread with no lock held.
///   Methods may be called from any thread.
/// - Order: one entry after the other: asked, acted on, then the next. One ending, after the last entry.
/// - Dropping: if the queue drops a question (its pending work was cancelled), the chain acts with `nil` and continues.
///   If it drops the ending, the ending is not delivered.
/// - Cancellation: as ``Gate``: after ``cancel()`` on the serial callback queue no question and no ending starts. An
///   entry that is being acted on is not interrupted, and no further entry begins.
/// - Release: a running chain is retained. All closures are released on the callback queue, or inside ``cancel()`` if
///   no entry is being acted on.
/// - Cost: two hops for each entry, some 10 µs.
public final class CallbackChain<Entry: Sendable, Answer: Sendable>: Cancelling {
    /// The decision about the remaining entries, after one was acted on.
    public enum Next: Sendable {
        /// Continues with the next entry.
        case proceed
        /// Skips the remaining entries and ends the chain.
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

    /// Creates a chain over a copy of the entries, without starting it.
    ///
    /// - Parameters:
    ///   - entries: The entries, in the order in which they are asked about.
    ///   - name: The name of the thread; 15 bytes of it are kept.
    ///   - queue: The callback queue on which questions and the ending run.
    ///   - question: Called for each entry, on `queue`.
    ///   - acting: Called with each answer, on the chain's thread; with nil if the queue dropped the question.
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

    /// Sets, replaces or, with nil, clears the end handler, which is called on the callback queue.
    public func setEndHandler(_ handler: (@Sendable (ChainSummary) -> Void)?) {
        gate.setEndHandler(handler)
    }

    /// Starts the chain. Only the first call counts. No effect after ``cancel()``.
    public func start() {
        perform(state.withLock { $0.machine.started() })
    }

    /// Cancels the chain. Idempotent; any thread. Also prevents a later start. No effect after the ending has passed.
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

    /// Whether ``cancel()`` was called before the ending passed.
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

    /// Runs on the callback queue.
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

    /// Runs on the chain's thread.
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

/// The counts of a ``CallbackChain``.
public struct ChainSummary: Hashable, Sendable {
    /// The number of entries that were acted on with an answer.
    public var answered: Int
    /// The number of entries that were acted on without an answer.
    public var unanswered: Int

    /// Creates a summary with these counts.
    public init(answered: Int = 0, unanswered: Int = 0) {
        self.answered = answered
        self.unanswered = unanswered
    }
}
