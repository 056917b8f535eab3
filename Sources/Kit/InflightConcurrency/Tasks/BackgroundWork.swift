/// Computing in slices on a thread of its own, that can be stopped between two of them.
///
/// ```swift
/// let search = BackgroundWork<Double, [Int]>(name: "primes", on: queue) { Sieve(upTo: 1_000_000) } slice: { sieve in
///     sieve.step()
///     return sieve.isDone ? .done(sieve.primes) : .more(sieve.progress)
/// }
/// search.setProgressHandler { … }
/// search.setEndHandler { result in … }
/// search.start()
/// ```
///
/// - Thread: the state is made, changed and released on the work's own thread, which ends with the work; so it need not
///   be `Sendable`. Handlers are called on the callback queue. Methods may be called from any thread.
/// - Order: progress as it came, what was not heard in time left out; then one ending.
/// - Cancellation: looked at before each slice. A slice that runs is not interrupted, but has no effect: no handler is
///   called after the cancel, as told at ``Gate``.
/// - Release: kept alive while it runs. Handlers and `slice` are released on the callback queue, or inside ``cancel()``
///   where no slice runs. Released before it was started, it lets go of them on the callback queue too.
/// - Cost: a thread (some 50 µs); about 50 ns for each slice over the slice itself, and what ``Gate`` costs for progress
///   that is reported.
/// - Errors: what `slice` or `start` throws is the ending.
public final class BackgroundWork<Progress: Sendable, Output: Sendable>: Cancelling {
    /// What one slice came to.
    public enum Slice {
        /// There is more to do; so far it has come, if that is worth telling.
        case more(Progress? = nil)
        case done(Output)
    }

    private typealias Body = @Sendable (Gate<Progress, Result<Output, any Error>>) -> Void

    private let gate: Gate<Progress, Result<Output, any Error>>
    private let body: ReleaseBox<Body>
    private let threads: WorkerThreads
    private let wasStarted = Guarded(false)

    /// - Parameters:
    ///   - name: of the thread; 15 bytes of it are kept.
    ///   - start: makes the state, on the work's thread.
    ///   - slice: does a little, some milliseconds at most. That long does it take to stop.
    public init<State>(
        name: String, on queue: CallbackQueue, from start: @escaping @Sendable () throws -> State,
        slice: @escaping @Sendable (inout State) throws -> Slice
    ) {
        gate = Gate(on: queue, keeping: .latest)
        threads = WorkerThreads(count: 1, name: name)
        body = ReleaseBox { gate in
            do {
                var state = try start()
                while gate.phase == .waiting {
                    switch try slice(&state) {
                    case .more(let progress):
                        if let progress { gate.send(progress) }
                    case .done(let output):
                        gate.end(with: .success(output))
                        return
                    }
                }
            } catch {
                gate.end(with: .failure(error))
            }
        }
    }

    deinit {
        gate.queue.release(body)
    }

    /// Sets, replaces or clears what is told the progress, on the callback queue.
    public func setProgressHandler(_ handler: (@Sendable (Progress) -> Void)?) {
        gate.setEventHandler(handler)
    }

    /// Sets, replaces or clears what is told the ending, on the callback queue.
    public func setEndHandler(_ handler: (@Sendable (Result<Output, any Error>) -> Void)?) {
        gate.setEndHandler(handler)
    }

    /// Begins. The first call counts; without effect after ``cancel()``.
    public func start() {
        let isFirst = wasStarted.withLock { wasStarted in
            defer { wasStarted = true }
            return !wasStarted
        }
        if isFirst { threads.run { self.run() } }
    }

    /// Stops before the next slice, and is silent from now on. Idempotent; latched before the start.
    public func cancel() {
        gate.cancel()
        let wasIdle = wasStarted.withLock { wasStarted in
            defer { wasStarted = true }
            return !wasStarted
        }
        if wasIdle { body.empty() }
    }

    /// Whether ``cancel()`` came before the ending was told.
    public var isCancelled: Bool { gate.isCancelled }

    private func run() {
        body.content?(gate)
        gate.queue.release(body)
    }
}
