import Dispatch
import InflightConcurrency
import Testing

@Suite("A confined object", .timeLimit(.minutes(10)))
struct ConfinedTests {
    final class Counter: Confined {
        let confinement: CallbackQueue
        private(set) var count = 0
        private let witness: Witness?
        /// Not `Sendable`, and reached by its own callbacks all the same.
        private var onChange: ((Int) -> Void)?

        init(on queue: CallbackQueue, witness: Witness? = nil) {
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

    @Test("is used on its queue, by a reference that anybody may hold")
    func reference() async {
        let counter = ConfinedReference(Counter(on: here))
        for _ in 0..<100 { counter.submit { $0.increment() } }
        #expect(await queue.ask { counter.object.count } == 100)
    }

    @Test("captures itself in its own callbacks, which come back to its queue")
    func callbacks() async {
        let counter = ConfinedReference(Counter(on: here))
        let elsewhere = DispatchQueue(label: "elsewhere")
        let count = await ValueBridge.value { done in
            counter.submit { $0.incrementLater(from: elsewhere) { done.open(with: $0) } }
        }
        #expect(count == 5)
    }

    @Test("is not kept alive by its callbacks, which do nothing once it is gone")
    func weakCallbacks() async {
        let log = Log()
        let here = here
        let late = await queue.ask {
            let counter = Counter(on: here, witness: Witness { log.note("released") })
            return counter.callback { (counter, text: String) in log.note(text) }
        }
        #expect(log.all == ["released"])
        await queue.ask { late("called") }
        #expect(log.all == ["released"])
    }

    @Test("is kept alive by a callback that is asked to")
    func strongCallbacks() async {
        let log = Log()
        let here = here
        var late: (@Sendable (String) -> Void)? = await queue.ask {
            let counter = Counter(on: here, witness: Witness { log.note("released") })
            return counter.callback(keepingAlive: true) { (_, text: String) in log.note(text) }
        }
        if let late { await queue.ask { late("called") } }
        late = nil
        await queue.settle()
        #expect(log.all == ["called", "released"])
    }

    @Test("is released on its queue, whoever lets go of the last reference to it")
    func released() async {
        let here = here
        let wasThere = await ValueBridge.value { done in
            _ = ConfinedReference(
                Counter(on: here, witness: Witness { done.open(with: here.isCurrent) }))
        }
        #expect(wasThere)
    }

    @Test("has what its callbacks captured released on its queue too")
    func capturesReleased() async {
        let here = here
        let counter = ConfinedReference(Counter(on: here))
        let wasThere = await ValueBridge.value { done in
            counter.submit { counter in
                let witness = Witness { done.open(with: here.isCurrent) }
                let late = counter.callback { (_) in witness.touch() }
                DispatchQueue.global().async { withExtendedLifetime(late) {} }
            }
        }
        #expect(wasThere)
    }

    @Test("stops the program where a method, its reference or a callback is used elsewhere", arguments: [0, 1, 2])
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
            message.contains("Counter is to be used on the queue “app.counter” alone, and was used on"), "\(message)")
    }
}
