internal import InflightConcurrency

/// Returns when a condition holds that nobody announces: a task has come to wait, an object is gone, a process has ended.
///
/// It looks every millisecond of the real clock. What is announced is waited for where it is announced:
/// ``ManualQueue/waitForWork(_:within:)``, ``ScriptedTransport/waitForStarts(_:within:)`` and the like.
///
/// - Parameters:
///   - what: what is waited for, for the failure's description.
///   - limit: how long the condition may take.
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
