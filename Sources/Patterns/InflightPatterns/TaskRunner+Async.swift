extension TaskRunner {
    /// Creates a starter of asynchronous work, which runs in a task of its own. Cancelling a start cancels its task.
    ///
    /// Work that throws has ended as ``RunOutcome/abandoned``, as cancelled work usually does.
    ///
    /// - Parameters:
    ///   - policy: The effect of a start while an earlier one runs.
    ///   - queue: The callback queue on which outcomes are delivered.
    ///   - work: Does the work of one start.
    public convenience init(
        _ policy: OverlapPolicy, on queue: CallbackQueue, work: @escaping @Sendable (Input) async throws -> Output
    ) {
        self.init(policy, on: queue) { input, token, end in
            let task = Task {
                if let output = try? await work(input) { end(output) }
            }
            token.cancels(task)
        }
    }

    /// Begins, enqueues or refuses a start, by the policy, and returns its outcome.
    ///
    /// ```swift
    /// let outcome = try await search.run("cat")
    /// ```
    ///
    /// The outcome does not pass through the callback queue's order: the caller continues where its task runs.
    ///
    /// - Throws: `CancellationError` as soon as the surrounding task is cancelled, which cancels the start, or when the
    ///   starter is cancelled. If the task was cancelled before, nothing is started.
    public func run(
        _ input: Input, isolation: isolated (any Actor)? = #isolation
    ) async throws(CancellationError) -> RunOutcome<Output> {
        do throws(CallbackFailure) {
            return try await Bridge.callback { (answer: CallbackAnswer<RunOutcome<Output>>) in
                start(input) { answer($0) }
            }
        } catch {
            // A start whose completion is released without a call was cancelled.
            throw CancellationError()
        }
    }
}
