import Dispatch

/// The main queue as a place for callbacks: they are `@MainActor`, so that they may touch views.
///
/// It is the same place under a run loop, under `dispatchMain()`, where the main queue is served by other threads than
/// the one the process began with, and under another library's loop on the main thread.
public struct MainCallbackQueue: Sendable {
    public static let main = MainCallbackQueue()

    /// The same place for code that does not care about actors.
    public var queue: CallbackQueue { .queue(.main) }

    /// Hands `work` to the main queue. It never runs inside this call. Any thread.
    public func submit(_ work: @escaping @MainActor @Sendable () -> Void) {
        DispatchQueue.main.async(execute: work)
    }

    /// `body` as a closure that patterns can call that were made with ``queue``; it stops the program where it is called
    /// anywhere else than on the main queue.
    public func callback<each Input: Sendable>(
        _ body: @escaping @MainActor @Sendable (repeat each Input) -> Void
    ) -> @Sendable (repeat each Input) -> Void {
        { (input: repeat each Input) in MainActor.assumeIsolated { body(repeat each input) } }
    }

    /// Whether the caller runs on the main queue, or on the main thread outside any queue. Any thread; about 110 ns where
    /// it does.
    public var isCurrent: Bool { queue.isCurrent }

    /// Stops the program, in release builds too, unless ``isCurrent``. See ``CallbackQueue/preconditionIsCurrent(_:file:line:)``.
    public func preconditionIsCurrent(
        _ subject: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
    ) {
        queue.preconditionIsCurrent(subject(), file: file, line: line)
    }
}
