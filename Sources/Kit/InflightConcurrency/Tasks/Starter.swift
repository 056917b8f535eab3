/// Starts work by a ``StartPolicy``: says what a second start does while the first runs.
///
/// ```swift
/// let search = Starter<String, [Hit]>(.lastWins, on: queue) { text, token, end in
///     index.search(text, until: token) { end($0) }        // calls `end` once, when it has stopped too
/// }
/// search.start("ca") { outcome in … }      // .replaced
/// search.start("cat") { outcome in … }     // .finished
/// ```
///
/// Under every policy but ``StartPolicy/both`` one piece of work runs at a time: the next begins when the last has in
/// fact ended, so work has to call `end` when it was cancelled too.
///
/// - Thread: work begins on the thread that starts it, or on the one that ended the work before it, with no lock held;
///   where that thread is inside the work before it, after that has returned. So work should hand itself on. Outcomes are told on the callback queue. Methods may be called from any thread.
/// - Order: of starts that wait, that of the calls.
/// - Cancellation: at every moment, that of the hand-over included: one that waits never begins; one that has just been
///   begun has a token that is cancelled already. After ``Start/cancel()`` on the serial callback queue its completion is
///   not called.
/// - Release: a start is kept alive until its work has ended. Completions are released on the callback queue or inside
///   `cancel()`. Work that is released with its `end` uncalled has ended: ``StartOutcome/abandoned``.
/// - Cost: a ``Gate`` and a ``CancellationToken`` for each start: some 3 µs and 18 allocations with its outcome, in an
///   optimised build.
public final class Starter<Input: Sendable, Output: Sendable>: Cancelling {
    public typealias Work = @Sendable (Input, CancellationToken, End) -> Void
    public typealias Completion = @Sendable (StartOutcome<Output>) -> Void

    /// What the work calls once, when it has ended.
    public final class End: Sendable {
        @usableFromInline let told: @Sendable (Output?) -> Void
        @usableFromInline let wasCalled = Guarded(false)

        @inlinable init(_ told: @escaping @Sendable (Output?) -> Void) {
            self.told = told
        }

        @inlinable
        deinit {
            tell(nil)
        }

        /// The first call counts. Any thread.
        @inlinable
        public func callAsFunction(_ output: Output) {
            tell(output)
        }

        @inlinable func tell(_ output: Output?) {
            let isFirst = wasCalled.withLock { wasCalled in
                defer { wasCalled = true }
                return !wasCalled
            }
            if isFirst { told(output) }
        }
    }

    @usableFromInline typealias Step = (action: StartMachine.Action, start: Start)

    @usableFromInline struct State: Sendable {
        @usableFromInline var machine: StartMachine
        @usableFromInline var lastID = 0
        @usableFromInline var starts: [Int: Start] = [:]
        /// Somebody begins work, and will begin these too: work that ends at once must not pile up calls.
        @usableFromInline var isBeginning = false
        @usableFromInline var next: [Start] = []

        @inlinable init(_ policy: StartPolicy) {
            machine = StartMachine(policy)
        }

        /// The machine's actions with the starts that they are about.
        @inlinable mutating func steps(_ event: (inout StartMachine) -> [StartMachine.Action]) -> [Step] {
            event(&machine).compactMap { action in
                switch action {
                case .begin(let id), .stop(let id), .refuse(let id), .replace(let id): starts[id].map { (action, $0) }
                }
            }
        }

        /// Forgets the start unless its work runs or will run.
        @inlinable mutating func forget(_ id: Int) {
            if !machine.running.contains(id) { starts[id] = nil }
        }
    }

    @usableFromInline let policy: StartPolicy
    @usableFromInline let queue: CallbackQueue
    @usableFromInline let work: Work
    @usableFromInline let state: Guarded<State>

    @inlinable
    public init(_ policy: StartPolicy, on queue: CallbackQueue, work: @escaping Work) {
        self.policy = policy
        self.queue = queue
        self.work = work
        state = Guarded(State(policy))
    }

    /// One start, of which the caller hears by its completion.
    public final class Start: Cancelling {
        @usableFromInline let id: Int
        @usableFromInline let input: Input
        @usableFromInline let token = CancellationToken()
        @usableFromInline let gate: Gate<Never, StartOutcome<Output>>
        @usableFromInline let starter: Starter

        @inlinable init(id: Int, input: Input, starter: Starter, completion: @escaping Completion) {
            self.id = id
            self.input = input
            self.starter = starter
            gate = Gate(on: starter.queue)
            gate.setEndHandler(completion)
        }

        /// Not wanted any more: its completion is silent, and its work stops, or never begins. Idempotent; any thread.
        @inlinable
        public func cancel() {
            gate.cancel()
            starter.cancel(self)
        }

        @inlinable
        public var isCancelled: Bool { gate.isCancelled }
    }

    /// Starts, waits, or is refused, as the policy says. Never calls `completion` inside this call.
    @discardableResult
    @inlinable
    public func start(_ input: Input, completion: @escaping Completion) -> Start {
        let (start, steps) = state.withLock { state -> (Start, [Step]) in
            state.lastID += 1
            let start = Start(id: state.lastID, input: input, starter: self, completion: completion)
            state.starts[start.id] = start
            let steps = state.steps { $0.started(start.id) }
            for step in steps {
                switch step.action {
                case .refuse(let id), .replace(let id): state.forget(id)
                case .begin, .stop: break
                }
            }
            return (start, steps)
        }
        perform(steps)
        return start
    }

    /// Cancels everything that runs or waits.
    @inlinable
    public func cancel() {
        let (starts, steps) = state.withLock { state -> ([Start], [Step]) in
            let starts = state.starts.values.sorted { $0.id < $1.id }
            let steps = state.steps { $0.allCancelled() }
            for start in starts { state.forget(start.id) }
            return (starts, steps)
        }
        for start in starts { start.gate.cancel() }
        perform(steps)
    }

    @inlinable func cancel(_ start: Start) {
        perform(
            state.withLock { state in
                let steps = state.steps { $0.cancelled(start.id) }
                state.forget(start.id)
                return steps
            })
    }

    @inlinable func workEnded(_ start: Start, _ output: Output?) {
        start.gate.end(with: output.map { .finished($0) } ?? .abandoned)
        perform(
            state.withLock { state in
                let steps = state.steps { $0.workEnded(start.id) }
                state.forget(start.id)
                return steps
            })
    }

    /// What was decided under the lock, carried out after it.
    @inlinable func perform(_ steps: [Step]) {
        for (action, start) in steps {
            switch action {
            case .begin: begin(start)
            case .stop: start.token.cancel()
            case .refuse: start.gate.end(with: .refused)
            case .replace: start.gate.end(with: .replaced)
            }
        }
    }

    @inlinable func begin(_ start: Start) {
        if policy == .both { return call(start) }
        let isOurs = state.withLock { state in
            state.next.append(start)
            defer { state.isBeginning = true }
            return !state.isBeginning
        }
        guard isOurs else { return }
        while let next = takeNext() { call(next) }
    }

    @inlinable func takeNext() -> Start? {
        state.withLock { state in
            state.isBeginning = !state.next.isEmpty
            return state.next.isEmpty ? nil : state.next.removeFirst()
        }
    }

    @inlinable func call(_ start: Start) {
        let end = End { self.workEnded(start, $0) }
        // It may have been cancelled while it was handed over.
        if !start.token.isCancelled { work(start.input, start.token, end) }
    }
}
