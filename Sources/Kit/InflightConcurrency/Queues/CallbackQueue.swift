public import Dispatch

/// Where callbacks run: named by the caller, never assumed. No API that takes one has a default for it.
///
/// - Thread: any thread may submit and ask; what is submitted runs on the queue and nowhere else.
/// - Order: that of the queue. On a serial one, in the order of submission.
/// - Cancellation: what is submitted cannot be taken back; a ``Gate`` decides on the queue whether it still counts.
/// - Cost: ``submit(_:)`` costs what the queue itself costs; ``isCurrent`` about 110 ns on a dispatch queue.
///
/// For the main queue there is ``MainCallbackQueue``, a type of its own, because closures that run there are
/// `@MainActor`. For an `OperationQueue` there is `CallbackQueue.queue(_:)` in `InflightFoundation`.
public struct CallbackQueue: Sendable {
    @usableFromInline
    enum Destination: Sendable {
        case dispatch(DispatchQueue)
        case executor(ExecutorBox)
    }

    @usableFromInline let destination: Destination

    /// Callbacks run on `queue`. Where it is serial, silence after cancel is exact (contract 4); whether it is serial
    /// cannot be asked of it.
    public static func queue(_ queue: DispatchQueue) -> CallbackQueue {
        CallbackQueue(destination: .dispatch(queue))
    }

    /// Callbacks run wherever `executor` runs them: another library's loop, a queue that a test moves by hand.
    public static func executor(_ executor: any CallbackExecutor) -> CallbackQueue {
        CallbackQueue(destination: .executor(ExecutorBox(executor)))
    }

    /// Whether a callback that is submitted may be dropped instead of run. A queue that can be emptied by somebody else,
    /// such as an `OperationQueue`, may drop some.
    @inlinable
    public var mayDrop: Bool {
        if case .executor = destination { return true }
        return false
    }

    /// Hands `work` to the queue. It never runs inside this call. Where ``mayDrop`` is true it may be let go of without
    /// having run: what it captured is released then.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        switch destination {
        case .dispatch(let queue): queue.async(execute: work)
        case .executor(let executor): executor.base.submit(work)
        }
    }
}

/// Keeps a queue one word long, whatever it is.
@usableFromInline
final class ExecutorBox: Sendable {
    @usableFromInline let base: any CallbackExecutor

    init(_ base: any CallbackExecutor) {
        self.base = base
    }
}

/// Somewhere that callbacks can run.
///
/// Conform to it to have them run on a loop of your own. Called from any thread, with no lock held.
public protocol CallbackExecutor: Sendable {
    /// Takes `work` to be run soon, once, in the order of submission where the executor is serial; never inside this
    /// call. It may be dropped instead: its release tells the engine so.
    func submit(_ work: @escaping @Sendable () -> Void)

    /// Whether the caller runs on this executor now.
    var isCurrent: Bool { get }

    /// What messages call this executor. By default the name of its type.
    var name: String { get }
}

extension CallbackExecutor {
    public var name: String { "\(Self.self)" }
}
