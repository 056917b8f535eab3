internal import Dispatch

/// Runs `async` work from a thread that may block: an experiment's own, never one of the pool's.
enum BlockingAwait {
    static func task(_ body: @escaping @Sendable () async -> Void) {
        let done = DispatchSemaphore(value: 0)
        Task {
            await body()
            done.signal()
        }
        done.wait()
    }
}
