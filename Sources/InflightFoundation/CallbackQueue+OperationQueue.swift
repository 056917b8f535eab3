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

    var isCurrent: Bool { OperationQueue.current === queue }
}
