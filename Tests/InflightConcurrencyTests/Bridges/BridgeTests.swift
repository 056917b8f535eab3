import Dispatch
import InflightConcurrency
import Testing

@Suite("Bridges", .timeLimit(.minutes(10)))
struct BridgeTests {
    @Test("A bridge resumes its waiter, whether it is opened before or after the wait")
    func both() async {
        for opensFirst in [true, false] {
            let bridge = Bridge()
            if opensFirst { bridge.open() } else { DispatchQueue.global().async { bridge.open() } }
            await bridge.wait()
            bridge.open()
        }
    }

    @Test("A value bridge carries the first value and refuses the second")
    func value() async {
        let bridge = ValueBridge<Int>()
        #expect(bridge.open(with: 1))
        #expect(!bridge.open(with: 2))
        #expect(await bridge.value() == 1)
    }

    @Test("A bridge made for one wait runs its body at once, on the actor of the caller")
    @MainActor func passedOn() async {
        var passed = 0
        await Bridge.wait { bridge in
            MainActor.assertIsolated()
            passed += 1
            bridge.open()
        }
        let value = await ValueBridge<Int>.value { bridge in
            MainActor.assertIsolated()
            passed += 1
            DispatchQueue.global().async { bridge.open(with: 4) }
        }
        MainActor.assertIsolated()
        #expect((passed, value) == (2, 4))
    }

    @Test("Writes made before a bridge opens are visible after the wait")
    func ordered() async {
        final class Plain: @unchecked Sendable {  // ordered by the bridge alone: for the thread sanitizer
            var number = 0
        }
        for _ in 0..<200 {
            let plain = Plain()
            let bridge = ValueBridge<Int>()
            DispatchQueue.global().async {
                plain.number = 7
                bridge.open(with: 1)
            }
            _ = await bridge.value()
            #expect(plain.number == 7)
        }
    }
}
