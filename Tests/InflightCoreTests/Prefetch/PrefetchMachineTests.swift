import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Prefetcher: state machine", .timeLimit(.minutes(10)))
struct PrefetchMachineTests {
    typealias Machine = PrefetchMachine<String, String, Int, String>

    /// A machine whose requests are identified by their number, and a log of its actions.
    private struct World {
        var machine: Machine
        var log: [String] = []

        init(limit: Int = 2, keptLimit: Int64 = 0) {
            machine = Machine(limit: limit, keptLimit: keptLimit)
        }

        @discardableResult
        mutating func start(_ keys: String...) -> Bool { machine.started(keys.map { ($0, $0) }) }

        @discardableResult
        mutating func stop(_ keys: String...) -> Bool { machine.stopped(keys) }

        mutating func endTurn() { perform(machine.turnEnded()) }

        mutating func end(_ id: Int, _ ending: Machine.Ending = .loaded) {
            perform(machine.ended(id, with: ending))
        }

        mutating func perform(_ actions: Machine.Actions) {
            for work in actions.cancels { log.append("cancel \(work)") }
            for (id, item) in actions.sends {
                log.append("send \(item)")
                if !machine.wasSent(id, as: id) { log.append("unwanted \(id)") }
            }
            for yield in actions.droppedYields { log.append("drop \(yield)") }
        }

        mutating func takeLog() -> [String] {
            defer { log = [] }
            return log
        }
    }

    @Test("The prefetch machine holds nothing of requests whose responses were taken, or that were stopped")
    func size() {
        var world = World(limit: 1, keptLimit: 1000)
        func held() -> Int {
            Mirror(reflecting: world.machine).children.reduce(0) { sum, child in
                let collection = Mirror(reflecting: child.value)
                let isCollection = collection.displayStyle == .collection || collection.displayStyle == .dictionary
                return sum + (isCollection ? collection.children.count : 0)
            }
        }
        for id in 1...1000 {
            world.start("\(id)")
            world.endTurn()
            world.end(id, .gave("x", cost: 1))
            #expect(world.machine.taken("\(id)") != nil)
        }
        #expect(held() < 50)
        world.machine.paused()
        for id in 1001...2000 {
            world.start("\(id)")
            world.endTurn()
            world.stop("\(id)")
            world.endTurn()
        }
        #expect(held() < 50)
    }

    @Test("The prefetch machine sends requests when the turn ends, in order, up to its limit")
    func sending() {
        var world = World()
        #expect(world.start("a", "b") == true)
        #expect(world.start("c") == false)
        #expect(world.log == [])
        world.endTurn()
        #expect(world.takeLog() == ["send a", "send b"])
        world.end(1)
        #expect(world.takeLog() == ["send c"])
        world.end(2, .failed)
        world.end(3, .found)
        let statistics = world.machine.statistics
        #expect(
            [statistics.requested, statistics.sent, statistics.loaded, statistics.failed, statistics.found]
                == [3, 3, 1, 1, 1])
        #expect(statistics.inFlight == 0 && statistics.waiting == 0)
    }

    @Test("Only requests that are still started when the turn ends are sent")
    func takenBack() {
        var world = World()
        world.start("a", "b")
        world.stop("a")
        world.stop("c")
        world.start("c", "d")
        world.stop("d")
        world.start("d")
        world.stop("d", "b")
        world.endTurn()
        #expect(world.takeLog() == ["send c"])
        #expect(world.machine.statistics.stopped == 3)
    }

    @Test("A restart within the turn keeps a request running, and a request that stays stopped is cancelled")
    func interrupting() {
        var world = World()
        world.start("a", "b")
        world.endTurn()
        world.stop("a", "b")
        world.start("a")
        #expect(world.takeLog() == ["send a", "send b"])
        world.endTurn()
        #expect(world.takeLog() == ["cancel 2"])
        #expect(world.machine.statistics.inFlight == 1)
    }

    @Test("A duplicate start is ignored while the request is pending, and accepted once it has finished")
    func twice() {
        var world = World(limit: 1)
        world.start("a", "a", "b")
        world.endTurn()
        world.start("a", "b")
        world.endTurn()
        #expect(world.takeLog() == ["send a"])
        world.end(1)
        world.end(2)
        #expect(world.takeLog() == ["send b"])
        world.start("a")
        world.endTurn()
        #expect(world.takeLog() == ["send a"])
        #expect(world.machine.statistics.requested == 3)
    }

    @Test("A cancelled request frees its slot for the next one within the same turn")
    func places() {
        var world = World(limit: 1)
        world.start("a", "b", "c")
        world.endTurn()
        world.stop("a", "b")
        world.endTurn()
        #expect(world.takeLog() == ["send a", "cancel 1", "send c"])
        // The result of a cancelled request is not counted.
        world.end(1)
        #expect(world.machine.statistics.inFlight == 1)
        #expect(world.machine.statistics.loaded == 0)
    }

    @Test("A paused prefetch machine sends nothing, and sends the next request as soon as it resumes")
    func pausing() {
        var world = World(limit: 1)
        world.start("a", "b")
        world.endTurn()
        world.machine.paused()
        world.end(1)
        world.start("c")
        world.endTurn()
        #expect(world.takeLog() == ["send a"])
        world.perform(world.machine.resumed())
        #expect(world.takeLog() == ["send b"])
        world.perform(world.machine.resumed())
        #expect(world.takeLog() == [])
    }

    @Test("A queued request stopped this turn is skipped, and is sent later if restarted within the turn")
    func stoppedWhileItWaits() {
        var world = World(limit: 1)
        world.start("a", "b", "c")
        world.endTurn()
        world.stop("b")
        world.end(1)
        #expect(world.takeLog() == ["send a", "send c"])
        world.start("b")
        world.endTurn()
        world.end(3)
        #expect(world.takeLog() == ["send b"])
        #expect(world.machine.statistics.stopped == 0)
    }

    @Test("Raising the prefetch limit fills the new slots, and lowering it cancels nothing")
    func limits() {
        var world = World(limit: 1)
        world.start("a", "b", "c", "d")
        world.endTurn()
        world.perform(world.machine.limitSet(3))
        #expect(world.takeLog() == ["send a", "send b", "send c"])
        world.perform(world.machine.limitSet(0))
        world.end(1)
        world.end(2)
        #expect(world.takeLog() == [])
        world.end(3)
        #expect(world.takeLog() == ["send d"])
    }

    @Test("wasSent returns false if the request was stopped or finished in the meantime")
    func sendingRaces() {
        var machine = Machine(limit: 2)
        _ = machine.started([("a", "a"), ("b", "b")])
        let sends = machine.turnEnded().sends
        #expect(sends.map(\.item) == ["a", "b"])
        _ = machine.stopped(["a"])
        #expect(machine.turnEnded().cancels == [])
        #expect(machine.wasSent(1, as: 1) == false)
        _ = machine.ended(2, with: .loaded)
        #expect(machine.wasSent(2, as: 2) == false)
        #expect(machine.statistics.inFlight == 0)
    }

    @Test("Prefetched responses are retained up to a limit, evicted oldest first, and returned once")
    func keeping() {
        var world = World(limit: 9, keptLimit: 10)
        world.start("a", "b", "c", "d")
        world.endTurn()
        world.end(1, .gave("A", cost: 6))
        world.end(2, .gave("B", cost: 4))
        #expect(world.machine.statistics.keptBytes == 10)
        world.end(3, .gave("C", cost: 5))
        world.end(4, .gave("D", cost: 11))
        #expect(world.takeLog() == ["send a", "send b", "send c", "send d", "drop A", "drop D"])
        #expect(world.machine.statistics.evicted == 2)
        #expect(world.machine.taken("b")?.yield == "B")
        #expect(world.machine.taken("b") == nil)
        #expect(world.machine.statistics.keptBytes == 5)
        // A kept response is not requested again, and stopping its request drops it.
        world.start("c")
        world.endTurn()
        #expect(world.takeLog() == [])
        world.stop("c")
        world.endTurn()
        #expect(world.takeLog() == ["drop C"])
        #expect(world.machine.statistics.keptBytes == 0)
    }

    @Test("A closed prefetch machine cancels everything and accepts no more requests")
    func closing() {
        var world = World(limit: 1)
        world.start("a", "b")
        world.endTurn()
        world.start("c")
        world.perform(world.machine.closed())
        #expect(world.takeLog() == ["send a", "cancel 1"])
        #expect(world.start("d") == false)
        world.endTurn()
        #expect(world.takeLog() == [])
        #expect(world.machine.statistics.stopped == 3)
    }

    @Test(
        "In any order of events, only wanted requests run, and never more than the limit", arguments: 0..<50)
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var machine = Machine(limit: 3)
        var wanted: Set<String> = []
        var inFlight: [Int: String] = [:]
        var turnIsUnderWay = false
        func check(_ actions: Machine.Actions) {
            for work in actions.cancels { #expect(inFlight.removeValue(forKey: work) != nil) }
            for (id, item) in actions.sends {
                #expect(wanted.contains(item))
                #expect(!inFlight.values.contains(item))
                inFlight[id] = item
                #expect(machine.wasSent(id, as: id) == true)
            }
            #expect(inFlight.count <= 3)
            #expect(machine.statistics.inFlight == inFlight.count)
        }
        func endTurn() {
            turnIsUnderWay = false
            check(machine.turnEnded())
            for item in inFlight.values { #expect(wanted.contains(item)) }
            #expect(
                inFlight.count == min(3, inFlight.count + machine.statistics.waiting) || machine.isPaused)
        }
        for _ in 0..<500 {
            let key = ["a", "b", "c", "d", "e", "f"].randomElement(using: &random) ?? "a"
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2:
                wanted.insert(key)
                if machine.started([(key, key)]) {
                    #expect(!turnIsUnderWay)
                    turnIsUnderWay = true
                }
            case 3, 4:
                wanted.remove(key)
                if machine.stopped([key]) { turnIsUnderWay = true }
            case 5: endTurn()
            case 6:
                guard let (id, item) = inFlight.min(by: { $0.key < $1.key }) else { continue }
                inFlight[id] = nil
                // A finished request is no longer wanted unless it is started again.
                wanted.remove(item)
                check(machine.ended(id, with: .loaded))
            default:
                if machine.isPaused { check(machine.resumed()) } else { machine.paused() }
            }
        }
        check(machine.resumed())
        endTurn()
    }
}
