import Dispatch
import InflightConcurrency
import Testing

@Suite("A work area", .timeLimit(.minutes(10)))
struct WorkAreaTests {
    enum Kind: CaseIterable {
        case lock
        case queue

        func make() -> any WorkArea {
            switch self {
            case .lock: WorkLock("downloads")
            case .queue: WorkQueue("downloads")
            }
        }
    }

    /// Two objects in one area.
    private final class Manager: Sendable {
        let area: any WorkArea
        let running: Enclosed<Set<Int>>

        init(_ area: any WorkArea) {
            self.area = area
            running = Enclosed([], in: area)
        }
    }

    private final class Task: Sendable {
        let manager: Manager
        let number: Int
        let isRunning: Enclosed<Bool>

        init(_ manager: Manager, _ number: Int) {
            self.manager = manager
            self.number = number
            isRunning = Enclosed(false, in: manager.area)
        }

        func start(_ onStart: @escaping @Sendable (Int) -> Void) {
            manager.area.enter { out in
                isRunning.value = true
                manager.running.value.insert(number)
                let count = manager.running.value.count
                out.afterLeaving { onStart(count) }
            }
        }

        func stop() {
            manager.area.enter { _ in
                isRunning.value = false
                manager.running.value.remove(number)
            }
        }
    }

    @Test("lets one in at a time, and several objects share it", arguments: Kind.allCases)
    func shared(kind: Kind) {
        let manager = Manager(kind.make())
        DispatchQueue.concurrentPerform(iterations: 8) { index in
            for _ in 0..<200 {
                let task = Task(manager, index)
                task.start { _ in }
                let agree = manager.area.enter { _ in task.isRunning.value && manager.running.value.contains(index) }
                #expect(agree)
                task.stop()
            }
        }
        #expect(manager.area.enter { _ in manager.running.value.count } == 0)
    }

    @Test("takes the ways out after it was left, in their order, on the thread that entered", arguments: Kind.allCases)
    func waysOut(kind: Kind) {
        let area = kind.make()
        let log = Log()
        let manager = Manager(area)
        Task(manager, 1).start { count in
            log.note("\(count) \(area.isInside)")
            // The code of others may come back in.
            Task(manager, 2).start { log.note("\($0) \(area.isInside)") }
        }
        area.enter { out in
            for number in 1...3 { out.afterLeaving { log.note("way \(number)") } }
            log.note("inside \(area.isInside)")
        }
        #expect(log.all == ["1 false", "2 false", "inside true", "way 1", "way 2", "way 3"])
        #expect(!area.isInside)
    }

    @Test("takes the ways out where the body throws as well, and throws it on", arguments: Kind.allCases)
    func throwing(kind: Kind) {
        struct Broken: Error {}
        let area = kind.make()
        let log = Log()
        #expect(throws: Broken.self) {
            try area.enter { (out: inout WayOut) throws(Broken) in
                out.afterLeaving { log.note("out") }
                throw Broken()
            }
        }
        #expect(log.all == ["out"])
        #expect(area.enter { _ in area.isInside })
    }

    @Test("on a queue can be entered later, from inside as well, in the order of the calls")
    func later() async {
        let area = WorkQueue("downloads")
        let log = Log()
        let asked = DispatchSemaphore(value: 0)
        await Bridge.wait { done in
            area.enterLater { out in
                // The second call comes before the third, however quick this thread is.
                asked.wait()
                log.note("first \(area.isInside)")
                out.afterLeaving { log.note("out \(area.isInside)") }
                area.enterLater { out in
                    log.note("third")
                    out.afterLeaving { done.open() }
                }
            }
            area.enterLater { _ in log.note("second") }
            asked.signal()
        }
        #expect(log.all.filter { !$0.hasPrefix("out") } == ["first true", "second", "third"])
        #expect(log.all.filter { $0.hasPrefix("out") } == ["out false"])
    }

    @Test("knows that another thread is inside, and this one is not", arguments: Kind.allCases)
    func others(kind: Kind) {
        let area = kind.make()
        area.enter { _ in
            let seen = Guarded(true)
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                seen.withLock { $0 = area.isInside }
                done.signal()
            }
            done.wait()
            #expect(!seen.withLock { $0 })
            area.checkInside()
        }
        area.checkOutside()
    }

    @Test("stops who enters from inside, with its name")
    func reentered() async throws {
        let observed = [
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let area = WorkLock("downloads")
                area.enter { _ in area.enter { _ in } }
            },
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let area = WorkQueue("downloads")
                area.enter { _ in area.enter { _ in } }
            },
        ]
        for result in observed {
            let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(message.contains("downloads: entered from inside"), "\(message)")
        }
    }

    @Test("stops who touches what is enclosed without having entered")
    func outside() async throws {
        let observed = [
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                Enclosed(1, in: WorkLock("downloads")).value += 1
            },
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                _ = Enclosed(1, in: WorkQueue("downloads")).value
            },
        ]
        for result in observed {
            let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(message.contains("downloads: this is to be done inside"), "\(message)")
        }
    }
}
