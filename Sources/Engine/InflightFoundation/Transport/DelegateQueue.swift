internal import Foundation
internal import InflightConcurrency

/// A serial operation queue for a session's delegate, whose blocks run on its own thread. Dispatch's pool has few
/// threads, and an operation for each piece of a body costs more than reading it.
///
/// The thread starts with the first block, and ends when the queue is released.
// Unchecked: it adds no mutable state.
final class DelegateQueue: OperationQueue, @unchecked Sendable {
    private let thread = WorkerThreads(count: 1, name: "inflight-events")

    override init() {
        super.init()
        name = "inflight.urlsession"
        maxConcurrentOperationCount = 1
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        thread.run(block)
    }
}
