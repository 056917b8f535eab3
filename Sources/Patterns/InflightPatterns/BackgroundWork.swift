/// A computation in slices on its own thread, which can be cancelled between two slices.
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
/// - Thread: the state is created, changed and released on the work's own thread, which ends with the work, so it need
///   not be `Sendable`. Handlers are called on the callback queue. Methods may be called from any thread.
/// - Order: progress in order, without values that were superseded before delivery; then one ending.
/// - Cancellation: checked before each slice. A running slice is not interrupted, but has no effect: no handler is
///   called after the cancel, as described at ``Gate``.
/// - Release: retained while it runs. Handlers are released on the callback queue or inside ``cancel()``; so is
///   `slice`, but inside ``cancel()`` only before the start. If it is released without a start, it releases them on the
///   callback queue.
/// - Cost: a thread (some 50 µs); about 50 ns for each slice on top of the slice itself, and the cost of a ``Gate`` for
///   reported progress.
/// - Errors: an error that `slice` or `start` throws is the ending.
public final class BackgroundWork<Progress: Sendable, Output: Sendable>: Cancelling {
    /// The result of one slice.
    public enum Slice {
        /// There is more to do. The progress so far is delivered if not nil.
        case more(Progress? = nil)
        /// The work is done and ends with this output.
        case done(Output)
    }

    private typealias Body = @Sendable (Gate<Progress, Result<Output, any Error>>) -> Void

    private let gate: Gate<Progress, Result<Output, any Error>>
    private let body: ReleaseBox<Body>
    private let threads: WorkerThreads
    private let wasStarted = Guarded(false)

    /// Creates the work without starting it.
    ///
    /// - Parameters:
    ///   - name: The name of the thread; 15 bytes of it are kept.
    ///   - queue: The callback queue on which handlers are called.
    ///   - start: Creates the state, on the work's thread.
    ///   - slice: Does a small part of the work, some milliseconds at most. Stopping takes as long.
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

    /// Sets, replaces or, with nil, clears the progress handler, which is called on the callback queue.
    public func setProgressHandler(_ handler: (@Sendable (Progress) -> Void)?) {
        gate.setEventHandler(handler)
    }

    /// Sets, replaces or, with nil, clears the end handler, which is called on the callback queue.
    public func setEndHandler(_ handler: (@Sendable (Result<Output, any Error>) -> Void)?) {
        gate.setEndHandler(handler)
    }

    /// Starts the work. Only the first call counts. No effect after ``cancel()``.
    public func start() {
        let isFirst = wasStarted.withLock { wasStarted in
            defer { wasStarted = true }
            return !wasStarted
        }
        if isFirst { threads.run { self.run() } }
    }

    /// Stops the work before its next slice, and its callbacks now. Idempotent; also prevents a later start.
    public func cancel() {
        gate.cancel()
        let wasIdle = wasStarted.withLock { wasStarted in
            defer { wasStarted = true }
            return !wasStarted
        }
        if wasIdle { body.empty() }
    }

    /// Whether ``cancel()`` was called before the ending passed.
    public var isCancelled: Bool { gate.isCancelled }

    private func run() {
        body.content?(gate)
        gate.queue.release(body)
    }
}
