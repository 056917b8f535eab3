import Dispatch
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Confined objects", .timeLimit(.minutes(10)))
struct ConfinedTests {
    final class Counter: Confined {
        let confinement: CallbackQueue
        private(set) var count = 0
        private let witness: ReleaseProbe?
        /// Not `Sendable`, but its own callbacks may use it.
        private var onChange: ((Int) -> Void)?

        init(on queue: CallbackQueue, witness: ReleaseProbe? = nil) {
            confinement = queue
            self.witness = witness
        }

        func increment() {
            checkConfinement()
            count += 1
        }

        func incrementLater(from elsewhere: DispatchQueue, _ onChange: @escaping (Int) -> Void) {
            checkConfinement()
            self.onChange = onChange
            let confinement = confinement
            let add = callback { (counter, number: Int) in
                counter.count += number
                counter.onChange?(counter.count)
            }
            elsewhere.async { confinement.submit { add(5) } }
        }
    }

    private let queue = DispatchQueue(label: "app.counter")
    private var here: CallbackQueue { .queue(queue) }

    @Test("Work submitted through a confined reference runs on the queue of the object")
    func reference() async {
        let counter = ConfinedReference(Counter(on: here))
        for _ in 0..<100 { counter.submit { $0.increment() } }
        #expect(await queue.ask { counter.object.count } == 100)
    }

    @Test("A confined object may capture itself in callbacks that run on its queue")
    func callbacks() async {
        let counter = ConfinedReference(Counter(on: here))
        let elsewhere = DispatchQueue(label: "elsewhere")
        let count = await ValueBridge.value { done in
            counter.submit { $0.incrementLater(from: elsewhere) { done.open(with: $0) } }
        }
        #expect(count == 5)
    }

    @Test("Callbacks do not retain a confined object, and do nothing after its release")
    func weakCallbacks() async {
        let log = Log()
        let here = here
        let late = await queue.ask {
            let counter = Counter(on: here, witness: ReleaseProbe { log.note("released") })
            return counter.callback { (counter, text: String) in log.note(text) }
        }
        #expect(log.all == ["released"])
        await queue.ask { late("called") }
        #expect(log.all == ["released"])
    }

    @Test("A callback made with keepingAlive retains its confined object")
    func strongCallbacks() async {
        let log = Log()
        let here = here
        var late: (@Sendable (String) -> Void)? = await queue.ask {
            let counter = Counter(on: here, witness: ReleaseProbe { log.note("released") })
            return counter.callback(keepingAlive: true) { (_, text: String) in log.note(text) }
        }
        if let late { await queue.ask { late("called") } }
        late = nil
        await queue.settle()
        #expect(log.all == ["called", "released"])
    }

    @Test("A confined object is released on its queue, whichever thread drops the last reference")
    func released() async {
        let here = here
        let wasThere = await ValueBridge.value { done in
            _ = ConfinedReference(
                Counter(on: here, witness: ReleaseProbe { done.open(with: here.isCurrent) }))
        }
        #expect(wasThere)
    }

    @Test("Values captured by callbacks of a confined object are released on its queue")
    func capturesReleased() async {
        let here = here
        let counter = ConfinedReference(Counter(on: here))
        let wasThere = await ValueBridge.value { done in
            counter.submit { counter in
                let witness = ReleaseProbe { done.open(with: here.isCurrent) }
                let late = counter.callback { (_) in witness.touch() }
                DispatchQueue.global().async { withExtendedLifetime(late) {} }
            }
        }
        #expect(wasThere)
    }

    @Test("Using a confined object, its reference or its callback on another queue traps", arguments: [0, 1, 2])
    func elsewhere(way: Int) async throws {
        let observed: ExitTest.Result?
        switch way {
        case 0:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                Counter(on: .queue(DispatchQueue(label: "app.counter"))).increment()
            }
        case 1:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = ConfinedReference(Counter(on: .queue(DispatchQueue(label: "app.counter")))).object
            }
        default:
            observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let counter = Counter(on: .queue(DispatchQueue(label: "app.counter")))
                counter.callback { (_) in }()
            }
        }
        let message = String(decoding: try #require(observed).standardErrorContent, as: UTF8.self)
        #expect(
            message.contains("Counter must be used on the queue “app.counter”, but was used on"), "\(message)")
    }
}
