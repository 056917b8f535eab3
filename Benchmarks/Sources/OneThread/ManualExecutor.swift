public import InflightConcurrency

/// An executor for callbacks and decodes that runs them on the measuring thread.
// Unchecked: touched only by that thread.
public final class ManualExecutor: CallbackExecutor, WorkExecutor, @unchecked Sendable {
    private var work: [@Sendable () -> Void] = []

    public init() {}

    public func submit(_ work: @escaping @Sendable () -> Void) { self.work.append(work) }
    public func run(_ work: @escaping @Sendable () -> Void) { self.work.append(work) }
    public var isCurrent: Bool { true }

    /// Runs all submitted work. Returns whether there was any.
    public func turn() -> Bool {
        let now = work
        work.removeAll(keepingCapacity: true)
        for item in now { item() }
        return !now.isEmpty
    }
}
