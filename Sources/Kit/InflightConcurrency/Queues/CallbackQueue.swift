public import Dispatch

/// The queue on which callbacks run. The caller always names it: no API that takes one has a default for it.
///
/// - Thread: any thread may submit and query. Submitted work runs on the queue and nowhere else.
/// - Order: that of the queue. On a serial queue, the order of submission.
/// - Cancellation: submitted work cannot be withdrawn. A gate decides on the queue whether to deliver a callback.
/// - Cost: ``submit(_:)`` costs as much as the queue itself, ``isCurrent`` about 110 ns on a dispatch queue.
///
/// The main queue has its own type, ``MainCallbackQueue``, because closures that run there are `@MainActor`. For an
/// `OperationQueue` there is `CallbackQueue.queue(_:)` in `InflightFoundation`.
public struct CallbackQueue: Sendable {
    @usableFromInline
    enum Destination: Sendable {
        case dispatch(DispatchQueue)
        case executor(ExecutorBox)
    }

    @usableFromInline let destination: Destination

    /// Runs callbacks on `queue`. If it is serial, silence after cancel is exact (contract 4). A queue cannot be asked
    /// whether it is serial.
    public static func queue(_ queue: DispatchQueue) -> CallbackQueue {
        CallbackQueue(destination: .dispatch(queue))
    }

    /// Runs callbacks on `executor`, such as another library's event loop, or a queue that a test steps by hand.
    public static func executor(_ executor: any CallbackExecutor) -> CallbackQueue {
        CallbackQueue(destination: .executor(ExecutorBox(executor)))
    }

    /// Whether the queue may drop a submitted callback instead of running it. A queue whose pending work others can
    /// remove, such as an `OperationQueue`, may drop callbacks.
    @inlinable
    public var mayDrop: Bool {
        if case .executor = destination { return true }
        return false
    }

    /// Enqueues `work`, which never runs inside this call. If ``mayDrop`` is true, the queue may release `work`, and
    /// the values that it captured, without running it.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        switch destination {
        case .dispatch(let queue): queue.async(execute: work)
        case .executor(let executor): executor.base.submit(work)
        }
    }
}

/// Keeps a queue one word in size, whatever its kind.
@usableFromInline
final class ExecutorBox: Sendable {
    @usableFromInline let base: any CallbackExecutor

    init(_ base: any CallbackExecutor) {
        self.base = base
    }
}

/// An executor on which callbacks can run.
///
/// Conform to it to run callbacks on another event loop. Its members are called from any thread, with no lock held.
public protocol CallbackExecutor: Sendable {
    /// Runs `work` soon, once, and never inside this call; in the order of submission if the executor is serial. The
    /// executor may drop `work` instead: releasing it notifies the engine.
    func submit(_ work: @escaping @Sendable () -> Void)

    /// Whether the caller runs on this executor now.
    var isCurrent: Bool { get }

    /// The name of this executor in messages. By default, the name of its type.
    var name: String { get }
}

extension CallbackExecutor {
    /// The name of the executor's type.
    public var name: String { "\(Self.self)" }
}
