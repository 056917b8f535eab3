import Dispatch

/// The main queue as a callback queue. Its callbacks are `@MainActor`, so that they may access views.
///
/// It works the same under a run loop, under `dispatchMain()`, which serves the main queue on threads other than the
/// process's first one, and under another library's event loop on the main thread.
public struct MainCallbackQueue: Sendable {
    /// The main queue, the only instance.
    public static let main = MainCallbackQueue()

    /// The same queue for code without actor isolation.
    public var queue: CallbackQueue { .queue(.main) }

    /// Enqueues `work` on the main queue. It never runs inside this call. Any thread.
    public func submit(_ work: @escaping @MainActor @Sendable () -> Void) {
        DispatchQueue.main.async(execute: work)
    }

    /// Returns `body` as a closure that types created with ``queue`` can call. Calling it anywhere but on the main
    /// queue traps.
    public func callback<each Input: Sendable>(
        _ body: @escaping @MainActor @Sendable (repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        { (input: repeat each Input) in MainActor.assumeIsolated { body(repeat each input) } }
    }

    /// Whether the caller runs on the main queue, or on the main thread. Any thread. About 110 ns on the main queue.
    public var isCurrent: Bool { queue.isCurrent }

    /// Traps, in release builds too, unless ``isCurrent``. See ``CallbackQueue/preconditionIsCurrent(_:file:line:)``.
    ///
    /// - Parameters:
    ///   - subject: The object that was used on the wrong queue; evaluated only then.
    ///   - file: The file named in the message.
    ///   - line: The line named in the message.
    public func preconditionIsCurrent(
        _ subject: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
    ) {
        queue.preconditionIsCurrent(subject(), file: file, line: line)
    }
}
