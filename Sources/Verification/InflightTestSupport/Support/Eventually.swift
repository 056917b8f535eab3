internal import InflightConcurrency

/// Returns when an unannounced condition holds: a task is suspended, an object is released, a process has ended.
///
/// It checks every millisecond of the real clock. To wait for announced conditions, use their own methods:
/// ``ManualQueue/waitForWork(_:within:)``, ``ScriptedTransport/waitForStarts(_:within:)`` and the like.
///
/// - Parameters:
///   - what: the condition, for the failure's description.
///   - limit: the maximum time until the condition holds. Time in which no thread was free for this task does not
///     count.
/// - Throws: ``WaitFailure`` when `limit` has passed.
package func eventually(
    _ what: @autoclosure () -> String, within limit: Duration = .seconds(50),
    isolation: isolated (any Actor)? = #isolation,
    _ isTrue: () -> Bool
) async throws(WaitFailure) {
    let clock = SystemClock()
    var (left, time) = (limit, clock.now())
    while !isTrue() {
        guard left > .zero else { throw WaitFailure(description: "Waited for \(what()), but \(limit) have passed.") }
        await Bridge.wait { next in _ = clock.schedule(at: clock.now() + .milliseconds(1)) { next.open() } }
        // A longer round had to wait for a thread. So may have the work that makes the condition true.
        left -= min(clock.now() - time, .milliseconds(200))
        time = clock.now()
    }
}
