import InflightConcurrency

/// One call of a program's own asynchronous code, for a job: a hook, or a source.
///
/// The code runs in a task of Swift's, on the executor that the configuration names, with no lock held. What it gives
/// comes back once, on that task, when the code has in fact returned: a cancel asks it to, and waits for that.
final class ExtensionCall: Sendable {
    private let token = CancellationToken()

    /// Begins the call. `completion` never runs inside this.
    func start<Output: Sendable>(
        on executor: (any TaskExecutor)?, _ operation: @escaping @Sendable () async throws -> Output,
        completion: @escaping @Sendable (Result<Output, any Error>) -> Void
    ) {
        let isKnown = Bridge()
        let task = Task(executorPreference: executor) {
            // A cancel that comes while the code runs has to reach it.
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

    /// Idempotent; any thread; before the start too.
    func cancel() {
        token.cancel()
    }
}

extension LoadError {
    /// What a program's own code threw, as the end of a load. Its own ``LoadError`` stays what it is.
    static func thrown(_ error: any Error, by what: String, url: String?, stage: Stage) -> LoadError {
        if let error = error as? LoadError { return error }
        if error is CancellationError { return .cancelled(url: url, stage: stage) }
        return LoadError(
            .extensionFailed, stage: stage, url: url,
            message: "The program's own \(what) failed: \(error). Look there.", underlying: error)
    }
}
