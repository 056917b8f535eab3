/// Somewhere that work which blocks or computes can run: ``WorkerThreads``, or what a test steps by hand.
public protocol WorkExecutor: Sendable {
    /// Takes `work` to be run soon, once, and returns at once; never inside this call. Any thread, no lock held.
    ///
    /// Work that is handed over may not be dropped: whoever handed it over waits for its end.
    func run(_ work: @escaping @Sendable () -> Void)
}

extension WorkerThreads: WorkExecutor {}
