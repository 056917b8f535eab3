internal import Glibc
public import InflightConcurrency

/// A callback queue that runs its work only when the test calls it.
///
/// ```swift
/// let queue = ManualQueue()
/// let task = pipeline.load(request, on: queue.callbackQueue) { task, result in … }
/// try await queue.waitForWork()
/// task.cancel()
/// queue.runAll()          // the callback was pending, and is silent now
/// ```
///
/// It is serial: work runs in the order of submission, on the thread that calls ``runNext()`` or ``runAll()``, with no
/// lock held. Any thread may submit.
public final class ManualQueue: CallbackExecutor {
    private struct State {
        var work: [(@Sendable () -> Void)?] = []
        /// The index of the first pending work. Everything before it has run or was dropped.
        var first = 0
        var submitted = 0
        /// The thread that runs work now.
        var runner: pthread_t?

        var count: Int { work.count - first }

        mutating func takeFirst() -> (@Sendable () -> Void)? {
            guard first < work.count else { return nil }
            defer { first += 1 }
            let next = work[first]
            work[first] = nil
            if first * 2 > work.count, first > 64 {
                work.removeFirst(first)
                first = 0
            }
            return next
        }
    }

    private let state = Guarded(State())
    private let waiting = WaitList()

    /// Creates a queue without work.
    public init() {}

    /// This queue as a callback queue for the engine's APIs.
    public var callbackQueue: CallbackQueue { .executor(self) }

    /// Enqueues `work`, which stays pending until the test runs or drops it. Any thread.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.work.append(work)
            state.submitted += 1
        }
        waiting.somethingChanged()
    }

    /// Whether the caller runs inside work of this queue.
    public var isCurrent: Bool {
        state.withLock { $0.runner.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// The number of pending pieces of work.
    public var count: Int { state.withLock { $0.count } }

    /// The number of pieces of work submitted so far, run, dropped or pending.
    public var submittedCount: Int { state.withLock { $0.submitted } }

    /// Runs the oldest pending work on this thread.
    ///
    /// - Precondition: no work of this queue is running, since it is serial.
    /// - Returns: `false` if none is pending.
    @discardableResult
    public func runNext() -> Bool {
        let next = state.withLock { state in
            precondition(state.runner == nil, "a serial queue runs one thing at a time, and not from inside another")
            let next = state.takeFirst()
            if next != nil { state.runner = pthread_self() }
            return next
        }
        guard let next else { return false }
        next()
        state.withLock { $0.runner = nil }
        return true
    }

    /// Runs all pending work on this thread, including work submitted meanwhile.
    ///
    /// - Precondition: no work of this queue is running, since it is serial.
    /// - Returns: the number of pieces that ran.
    @discardableResult
    public func runAll() -> Int {
        var count = 0
        while runNext() { count += 1 }
        return count
    }

    /// Drops all pending work without running it, as a queue does if its owner cancels everything on it.
    public func dropAll() {
        let dropped = state.withLock { state in
            defer {
                state.work = []
                state.first = 0
            }
            return state.work
        }
        withExtendedLifetime(dropped) {}
    }

    /// Waits until at least `count` pieces of work are pending.
    ///
    /// - Throws: ``WaitFailure`` when `limit` has passed.
    public func waitForWork(_ count: Int = 1, within limit: Duration = .seconds(10)) async throws(WaitFailure) {
        try await waiting.wait(for: "\(count) submissions", within: limit, seen: { seen }) { self.count >= count }
    }

    /// Waits until at least `count` pieces of work are pending. Blocks the calling thread.
    ///
    /// - Throws: ``WaitFailure`` when `limit` has passed.
    @available(*, noasync)
    public func blockForWork(_ count: Int = 1, within limit: Duration = .seconds(10)) throws(WaitFailure) {
        try waiting.wait(for: "\(count) submissions", within: limit, seen: { seen }) { self.count >= count }
    }

    private var seen: String { "\(submittedCount) were submitted in all, \(count) wait." }
}
