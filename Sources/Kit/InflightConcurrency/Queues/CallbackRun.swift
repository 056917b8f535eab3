internal import Dispatch

/// Callbacks of one dispatch queue that became due together, for which the queue is woken only once.
///
/// Only the first callback is enqueued from outside. Before it does its own work, it enqueues the next one from the
/// queue's own thread, which wakes no thread. So callbacks begin in order, a concurrent queue runs as many at once as
/// it otherwise would, and other work enqueued meanwhile gets its turn between them.
package struct CallbackRun<Callback: AnyObject & Sendable>: ~Copyable {
    private let deliver: @Sendable (Callback) -> Void
    private var queue: DispatchQueue?
    private var callbacks: [Callback] = []

    /// - Parameter deliver: Delivers one callback, on its queue.
    package init(_ deliver: @escaping @Sendable (Callback) -> Void) {
        self.deliver = deliver
    }

    /// Appends a callback. If it is for another queue than those before it, submits those first.
    package mutating func append(_ callback: Callback, for target: CallbackQueue) {
        guard case .dispatch(let next) = target.destination else {
            preconditionFailure("only a dispatch queue accepts a batch of callbacks")
        }
        if let queue, queue !== next { submit() }
        queue = next
        callbacks.append(callback)
    }

    /// Submits the appended callbacks.
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
