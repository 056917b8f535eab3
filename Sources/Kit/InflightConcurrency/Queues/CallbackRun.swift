internal import Dispatch

/// Callbacks of one dispatch queue that became due together: the queue is woken once for all of them.
///
/// Only the first is handed to the queue. Before it does its own work it hands over the next, from the queue's own
/// thread, where that wakes nobody. So they begin in their order, a concurrent queue runs as many at once as it would
/// otherwise, and what others hand to the queue meanwhile has its turn between them.
package struct CallbackRun<Callback: AnyObject & Sendable>: ~Copyable {
    private let deliver: @Sendable (Callback) -> Void
    private var queue: DispatchQueue?
    private var callbacks: [Callback] = []

    /// - Parameter deliver: does one callback's work, on its queue.
    package init(_ deliver: @escaping @Sendable (Callback) -> Void) {
        self.deliver = deliver
    }

    /// Adds a callback behind the others. Where it is for another queue, those before it are handed over.
    package mutating func append(_ callback: Callback, for target: CallbackQueue) {
        guard case .dispatch(let next) = target.destination else {
            preconditionFailure("only a dispatch queue takes a run of callbacks")
        }
        if let queue, queue !== next { submit() }
        queue = next
        callbacks.append(callback)
    }

    /// Hands over what was added.
    package mutating func submit() {
        guard let queue else { return }
        Self.submit(callbacks, from: 0, to: queue, deliver)
        self.queue = nil
        callbacks = []
    }

    private static func submit(
        _ callbacks: [Callback], from index: Int, to queue: DispatchQueue,
        _ deliver: @escaping @Sendable (Callback) -> Void
    ) {
        queue.async {
            if index + 1 < callbacks.count { submit(callbacks, from: index + 1, to: queue, deliver) }
            deliver(callbacks[index])
        }
    }
}
