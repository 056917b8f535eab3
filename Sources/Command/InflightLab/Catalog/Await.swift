internal import Dispatch

/// From `async` to a thread that may wait: an experiment's own, never one of the pool's.
enum Await {
    static func task(_ body: @escaping @Sendable () async -> Void) {
        let done = DispatchSemaphore(value: 0)
        Task {
            await body()
            done.signal()
        }
        done.wait()
    }
}
