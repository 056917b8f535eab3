internal import InflightConcurrency

// Each wait has two forms: one that suspends, one that blocks its thread. Both look first, so what has already happened
// is not waited for, and both end with a `WaitFailure` when the time is over. Cancelling the Swift task does not end
// them early.
extension LoopbackServer {
    /// Waits until `condition` is true. Any thread; costs nothing while it waits.
    public func wait(until condition: Condition, within limit: Duration = .seconds(10)) async throws(WaitFailure) {
        let bridge = Bridge()
        let outcome = Guarded(Result<Void, WaitFailure>.success(()))
        core.addWaiter(condition, within: limit) { result in
            outcome.withLock { $0 = result }
            bridge.open()
        }
        await bridge.wait()
        try outcome.withLock { $0 }.get()
    }

    /// Waits until `condition` is true. Blocks the calling thread.
    public func wait(until condition: Condition, within limit: Duration = .seconds(10)) throws(WaitFailure) {
        let latch = Latch<Result<Void, WaitFailure>>()
        core.addWaiter(condition, within: limit) { latch.open(with: $0) }
        try latch.wait().get()
    }

    /// Waits until `count` requests of a path were read.
    public func waitForRequest(
        _ path: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) async throws(WaitFailure) {
        try await wait(until: .requests(count, path: path), within: limit)
    }

    /// Waits until `count` requests of a path were read. Blocks the calling thread.
    public func waitForRequest(_ path: String, count: Int = 1, within limit: Duration = .seconds(10))
        throws(WaitFailure)
    {
        try wait(until: .requests(count, path: path), within: limit)
    }

    /// Waits until `count` answers are held at once at a name.
    public func waitUntilHeld(
        _ name: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) async throws(WaitFailure) {
        try await wait(until: .held(name, count: count), within: limit)
    }

    /// Waits until `count` answers are held at once at a name. Blocks the calling thread.
    public func waitUntilHeld(_ name: String, count: Int = 1, within limit: Duration = .seconds(10)) throws(WaitFailure)
    {
        try wait(until: .held(name, count: count), within: limit)
    }

    /// Waits until the other side has closed `count` connections while that path was being answered.
    public func waitUntilClosedByPeer(
        _ path: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) async throws(WaitFailure) {
        try await wait(until: .closedByPeer(count, path: path), within: limit)
    }

    /// Waits until the other side has closed `count` connections while that path was being answered. Blocks the calling
    /// thread.
    public func waitUntilClosedByPeer(
        _ path: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) throws(WaitFailure) {
        try wait(until: .closedByPeer(count, path: path), within: limit)
    }
}
