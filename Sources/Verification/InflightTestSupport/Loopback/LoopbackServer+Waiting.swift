// Each wait has two forms: `wait…` suspends, and `block…` blocks its thread. Both check the condition first, so they
// return at once for past events, and both end with a `WaitFailure` after the limit. Cancelling the Swift task does not
// end them early.
extension LoopbackServer {
    /// Waits until `condition` is true. Any thread; without cost while it waits.
    ///
    /// - Parameters:
    ///   - condition: the condition, checked at once and after each event.
    ///   - limit: the maximum time to wait. Time in which all of Swift's task threads are busy does not count.
    /// - Throws: ``WaitFailure`` when `limit` has passed or the server was stopped.
    public func wait(until condition: Condition, within limit: Duration = .seconds(10)) async throws(WaitFailure) {
        let core = core
        try await core.waiting.wait(for: "\(condition)", within: limit, seen: { core.summary }) {
            core.isTrue(condition)
        }
    }

    /// Waits until `condition` is true. Blocks the calling thread.
    ///
    /// - Throws: ``WaitFailure`` when `limit` has passed or the server was stopped.
    @available(*, noasync)
    public func block(until condition: Condition, within limit: Duration = .seconds(10)) throws(WaitFailure) {
        let core = core
        try core.waiting.wait(for: "\(condition)", within: limit, seen: { core.summary }) { core.isTrue(condition) }
    }

    /// Waits until at least `count` requests of a path were read since the server's start.
    public func waitForRequest(
        _ path: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) async throws(WaitFailure) {
        try await wait(until: .requests(count, path: path), within: limit)
    }

    /// Waits until at least `count` requests of a path were read since the server's start. Blocks the calling thread.
    @available(*, noasync)
    public func blockForRequest(_ path: String, count: Int = 1, within limit: Duration = .seconds(10))
        throws(WaitFailure)
    {
        try block(until: .requests(count, path: path), within: limit)
    }

    /// Waits until at least `count` responses are held at once at a name.
    public func waitUntilHeld(
        _ name: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) async throws(WaitFailure) {
        try await wait(until: .held(name, count: count), within: limit)
    }

    /// Waits until at least `count` responses are held at once at a name. Blocks the calling thread.
    @available(*, noasync)
    public func blockUntilHeld(
        _ name: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) throws(WaitFailure) {
        try block(until: .held(name, count: count), within: limit)
    }

    /// Waits until the peer has closed at least `count` connections while that path was being served.
    public func waitUntilClosedByPeer(
        _ path: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) async throws(WaitFailure) {
        try await wait(until: .closedByPeer(count, path: path), within: limit)
    }

    /// Waits until the peer has closed at least `count` connections while that path was being served. Blocks the
    /// calling thread.
    @available(*, noasync)
    public func blockUntilClosedByPeer(
        _ path: String, count: Int = 1, within limit: Duration = .seconds(10)
    ) throws(WaitFailure) {
        try block(until: .closedByPeer(count, path: path), within: limit)
    }
}
