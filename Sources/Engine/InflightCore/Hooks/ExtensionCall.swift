import InflightConcurrency

/// One call of the program's own asynchronous code for a job: a hook, or a source.
///
/// The code runs in a Swift task, on the executor that the configuration names, with no lock held. Its result is
/// delivered once, on that task, after the code has returned. A cancellation cancels the task, and the result follows
/// when the code returns.
final class ExtensionCall: Sendable {
    private let token = CancellationToken()

    /// Starts the call. `completion` never runs inside this.
    func start<Output: Sendable>(
        on executor: (any TaskExecutor)?, _ operation: @escaping @Sendable () async throws -> Output,
        completion: @escaping @Sendable (Result<Output, any Error>) -> Void
    ) {
        let isKnown = Bridge()
        let task = Task(executorPreference: executor) {
            // Wait until the token can cancel this task, so that no cancellation is missed while the code runs.
            await isKnown.wait()
            let result: Result<Output, any Error>
            do {
                result = .success(try await operation())
            } catch {
                result = .failure(error)
            }
            completion(result)
        }
        token.cancels(task)
        isKnown.open()
    }

    /// Cancels the call. Idempotent; any thread; before the start too.
    func cancel() {
        token.cancel()
    }
}

extension LoadError {
    /// Returns the load's error for an error that the program's own code threw. A ``LoadError`` is unchanged.
    static func thrown(_ error: any Error, by what: String, url: String?, stage: Stage) -> LoadError {
        if let error = error as? LoadError { return error }
        if error is CancellationError { return .cancelled(url: url, stage: stage) }
        return LoadError(
            .extensionFailed, stage: stage, url: url,
            message: "The app's \(what) failed: \(error)", underlying: error)
    }
}
