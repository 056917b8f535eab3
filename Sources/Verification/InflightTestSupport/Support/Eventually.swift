internal import InflightConcurrency

/// Returns when an unannounced condition holds: a task is suspended, an object is released, a process has ended.
///
/// It checks every millisecond of the real clock. To wait for announced conditions, use their own methods:
/// ``ManualQueue/waitForWork(_:within:)``, ``ScriptedTransport/waitForStarts(_:within:)`` and the like.
///
/// - Parameters:
///   - what: the condition, for the failure's description.
///   - limit: the maximum time until the condition holds.
/// - Throws: ``WaitFailure`` when `limit` has passed.
package func eventually(
    _ what: @autoclosure () -> String, within limit: Duration = .seconds(50),
    isolation: isolated (any Actor)? = #isolation,
    _ isTrue: () -> Bool
) async throws(WaitFailure) {
    let clock = SystemClock()
    let deadline = clock.now() + limit
    while !isTrue() {
        guard clock.now() < deadline else {
            throw WaitFailure(description: "Waited for \(what()), but \(limit) have passed.")
        }
        await Bridge.wait { next in _ = clock.schedule(at: clock.now() + .milliseconds(1)) { next.open() } }
    }
}
