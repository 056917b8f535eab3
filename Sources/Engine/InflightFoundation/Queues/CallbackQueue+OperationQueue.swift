public import Foundation
public import InflightConcurrency

extension CallbackQueue {
    /// Callbacks run as operations of `queue`, one operation each.
    ///
    /// Where somebody cancels all operations of the queue, callbacks that have not begun are dropped: an ending that
    /// nobody hears. The work behind them, and everybody else's, goes on. While the queue is suspended its callbacks
    /// wait, and nothing else does. Silence after cancel is exact (contract 4) where the queue is serial, with
    /// `maxConcurrentOperationCount` of 1.
    public static func queue(_ queue: OperationQueue) -> CallbackQueue {
        .executor(OperationQueueExecutor(queue: queue))
    }
}

private struct OperationQueueExecutor: CallbackExecutor {
    let queue: OperationQueue

    func submit(_ work: @escaping @Sendable () -> Void) {
        queue.addOperation(work)
    }

    // Where the main queue is served by other threads, under `dispatchMain()`, Foundation does not know the main one.
    var isCurrent: Bool {
        queue === OperationQueue.main ? MainCallbackQueue.main.isCurrent : OperationQueue.current === queue
    }

    var name: String {
        if queue === OperationQueue.main { return "the main queue" }
        return queue.name.map { "the operation queue “\($0)”" } ?? "an operation queue without a name"
    }
}
