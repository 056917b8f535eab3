/// An executor for work that blocks or computes: ``WorkerThreads``, or one that a test steps by hand.
public protocol WorkExecutor: Sendable {
    /// Runs `work` soon, once, and never inside this call. Returns at once. Called from any thread, with no lock held.
    ///
    /// The executor must not drop `work`, because its submitter waits for the end.
    func run(_ work: @escaping @Sendable () -> Void)
}

extension WorkerThreads: WorkExecutor {}
