import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Isolation domain", .timeLimit(.minutes(10)))
struct IsolationDomainTests {
    let domain = IsolationDomain("downloads")

    /// Two objects in one domain.
    private final class Manager: Sendable {
        let domain: IsolationDomain
        let running: Isolated<Set<Int>>

        init(_ domain: IsolationDomain) {
            self.domain = domain
            running = Isolated([], in: domain)
        }
    }

    private final class Task: Sendable {
        let manager: Manager
        let number: Int
        let isRunning: Isolated<Bool>

        init(_ manager: Manager, _ number: Int) {
            self.manager = manager
            self.number = number
            isRunning = Isolated(false, in: manager.domain)
        }

        func start(_ onStart: @escaping @Sendable (Int) -> Void) {
            manager.domain.enter { deferred in
                isRunning.value = true
                manager.running.value.insert(number)
                let count = manager.running.value.count
                deferred.append { onStart(count) }
            }
        }

        func stop() {
            manager.domain.enter { _ in
                isRunning.value = false
                manager.running.value.remove(number)
            }
        }
    }

    @Test("Objects that share an isolation domain are accessed by one thread at a time")
    func shared() {
        let manager = Manager(domain)
        DispatchQueue.concurrentPerform(iterations: 8) { index in
            for _ in 0..<200 {
                let task = Task(manager, index)
                task.start { _ in }
                let agree = domain.enter { _ in task.isRunning.value && manager.running.value.contains(index) }
                #expect(agree)
                task.stop()
            }
        }
        #expect(domain.enter { _ in manager.running.value.count } == 0)
    }

    @Test("Deferred actions run in order after the domain is left, and may enter it again")
    func deferredActions() {
        let log = Log()
        let manager = Manager(domain)
        Task(manager, 1).start { [domain] count in
            log.note("\(count) \(domain.isInside)")
            // The caller's code may enter the domain again.
            Task(manager, 2).start { log.note("\($0) \(domain.isInside)") }
        }
        domain.enter { deferred in
            for number in 1...3 { deferred.append { log.note("action \(number)") } }
            log.note("inside \(domain.isInside)")
        }
        #expect(log.all == ["1 false", "2 false", "inside true", "action 1", "action 2", "action 3"])
        #expect(!domain.isInside)
    }

    @Test("Deferred actions run even if the body throws, and the error is rethrown")
    func throwing() {
        struct Broken: Error {}
        let log = Log()
        #expect(throws: Broken.self) {
            try domain.enter { (deferred: inout DeferredActions) throws(Broken) in
                deferred.append { log.note("out") }
                throw Broken()
            }
        }
        #expect(log.all == ["out"])
        #expect(domain.enter { _ in domain.isInside })
    }

    @Test("Only the thread inside an isolation domain counts as inside")
    func others() {
        domain.enter { _ in
            let seen = Guarded(true)
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async { [domain] in
                seen.withLock { $0 = domain.isInside }
                done.signal()
            }
            done.wait()
            #expect(!seen.withLock { $0 })
            domain.checkInside()
        }
        domain.checkOutside()
    }

    @Test("Re-entering an isolation domain, or accessing its values from outside, traps with its name")
    func traps() async throws {
        let reentered = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let domain = IsolationDomain("downloads")
            domain.enter { _ in domain.enter { _ in } }
        }
        let written = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            Isolated(1, in: IsolationDomain("downloads")).value += 1
        }
        let read = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Isolated(1, in: IsolationDomain("downloads")).value
        }
        let inside = "downloads: call this inside enter(_:)"
        for (result, expected) in [(reentered, "downloads: entered recursively"), (written, inside), (read, inside)] {
            let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(message.contains(expected), "\(message)")
        }
    }
}
