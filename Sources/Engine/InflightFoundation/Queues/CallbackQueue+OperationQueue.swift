public import Foundation
public import InflightConcurrency

extension CallbackQueue {
    /// Returns a callback queue that runs callbacks as operations of `queue`, one operation each.
    ///
    /// If all operations of the queue are cancelled, callbacks that have not begun are dropped, so their results are
    /// never delivered. The jobs behind them, and other tasks, continue. While the queue is suspended, only its
    /// callbacks wait. Silence after cancel is exact (contract 4) if the queue is serial, with
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

    // If other threads serve the main queue, under `dispatchMain()`, Foundation does not recognize the main queue.
    var isCurrent: Bool {
        queue === OperationQueue.main ? MainCallbackQueue.main.isCurrent : OperationQueue.current === queue
    }

    var name: String {
        if queue === OperationQueue.main { return "the main queue" }
        return queue.name.map { "the operation queue “\($0)”" } ?? "an unnamed operation queue"
    }
}
