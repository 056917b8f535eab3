import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Prefetcher: state machine", .timeLimit(.minutes(10)))
struct PrefetchMachineTests {
    /// A machine whose requests are named, and a log of its actions.
    private struct World {
        var machine: PrefetchMachine
        var log: [String] = []
        private let pipeline: ImagePipeline

        init(limit: Int = 2, keptLimit: Int64 = 0) throws {
            machine = PrefetchMachine(limit: limit, keptLimit: keptLimit)
            let transport = ScriptedTransport(.manual)
            pipeline = try ImagePipeline(
                configuration: .init(transports: [.shared(transport)], codecs: CodecRegistry([])))
        }

        static func key(_ name: String) -> RequestKey { FetchKey(url: name, rest: []) }

        static func response(_ name: String, bytes: Int) -> LoadedResponse {
            LoadedResponse(
                head: ResponseHead(status: 200), body: Bytes([UInt8](repeating: 0, count: bytes)), url: name,
                wireBytes: 0, source: .network)
        }

        @discardableResult
        mutating func start(_ names: String...) -> Bool {
            machine.started(names.map { (Self.key($0), ImageRequest($0)) })
        }

        @discardableResult
        mutating func stop(_ names: String...) -> Bool { machine.stopped(names.map(Self.key)) }

        mutating func take(_ name: String) -> String? { machine.taken(Self.key(name)) { _, _ in true }?.response.url }

        mutating func endTurn() { perform(machine.turnEnded()) }

        mutating func end(_ id: Int, _ ending: PrefetchMachine.Ending = .loaded) {
            perform(machine.ended(id, with: ending))
        }

        /// Returns a task that stands for the load of an entry.
        func task(_ id: Int) -> ImageTask {
            let request = ImageRequest("\(id)")
            let rejected = ImageTask.RejectedRequest(
                request, LoadError(.invalidURL, stage: .request, message: ""), .data)
            return ImageTask(.rejected(rejected), engine: pipeline.engine, sink: nil, observesProgress: false)
        }

        mutating func perform(_ actions: PrefetchMachine.Actions) {
            for task in actions.cancels { log.append("cancel \(task.request.url)") }
            for (id, request) in actions.sends {
                log.append("send \(request.url)")
                if !machine.wasSent(id, as: task(id)) { log.append("unwanted \(id)") }
            }
            for response in actions.droppedResponses { log.append("drop \(response.url)") }
        }

        mutating func takeLog() -> [String] {
            defer { log = [] }
            return log
        }
    }

    @Test("The prefetch machine holds nothing of requests whose responses were taken, or that were stopped")
    func size() throws {
        var world = try World(limit: 1, keptLimit: 1000)
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
            world.end(id, .received(World.response("x", bytes: 1)))
            #expect(world.take("\(id)") != nil)
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
    func sending() throws {
        var world = try World()
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
    func takenBack() throws {
        var world = try World()
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
    func interrupting() throws {
        var world = try World()
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
    func twice() throws {
        var world = try World(limit: 1)
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
    func places() throws {
        var world = try World(limit: 1)
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
    func pausing() throws {
        var world = try World(limit: 1)
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
    func stoppedWhileItWaits() throws {
        var world = try World(limit: 1)
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
    func limits() throws {
        var world = try World(limit: 1)
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
    func sendingRaces() throws {
        var world = try World(limit: 2)
        world.start("a", "b")
        let sends = world.machine.turnEnded().sends
        #expect(sends.map(\.request.url) == ["a", "b"])
        world.stop("a")
        world.endTurn()
        #expect(world.takeLog() == [])
        #expect(world.machine.wasSent(1, as: world.task(1)) == false)
        world.end(2)
        #expect(world.machine.wasSent(2, as: world.task(2)) == false)
        #expect(world.machine.statistics.inFlight == 0)
    }

    @Test("Prefetched responses are retained up to a limit, evicted oldest first, and returned once")
    func keeping() throws {
        var world = try World(limit: 9, keptLimit: 10)
        world.start("a", "b", "c", "d")
        world.endTurn()
        world.end(1, .received(World.response("A", bytes: 6)))
        world.end(2, .received(World.response("B", bytes: 4)))
        #expect(world.machine.statistics.keptBytes == 10)
        world.end(3, .received(World.response("C", bytes: 5)))
        world.end(4, .received(World.response("D", bytes: 11)))
        #expect(world.takeLog() == ["send a", "send b", "send c", "send d", "drop A", "drop D"])
        #expect(world.machine.statistics.evicted == 2)
        #expect(world.take("b") == "B")
        #expect(world.take("b") == nil)
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
    func closing() throws {
        var world = try World(limit: 1)
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
    func anyOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var world = try World(limit: 3)
        var wanted: Set<String> = []
        var inFlight: [Int: String] = [:]
        var turnIsUnderWay = false
        func check(_ actions: PrefetchMachine.Actions) {
            for task in actions.cancels {
                #expect(inFlight.removeValue(forKey: Int(task.request.url) ?? 0) != nil)
            }
            for (id, request) in actions.sends {
                #expect(wanted.contains(request.url))
                #expect(!inFlight.values.contains(request.url))
                inFlight[id] = request.url
                #expect(world.machine.wasSent(id, as: world.task(id)) == true)
            }
            #expect(inFlight.count <= 3)
            #expect(world.machine.statistics.inFlight == inFlight.count)
        }
        func endTurn() {
            turnIsUnderWay = false
            check(world.machine.turnEnded())
            for item in inFlight.values { #expect(wanted.contains(item)) }
            #expect(
                inFlight.count == min(3, inFlight.count + world.machine.statistics.waiting) || world.machine.isPaused)
        }
        for _ in 0..<500 {
            let key = ["a", "b", "c", "d", "e", "f"].randomElement(using: &random) ?? "a"
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2:
                wanted.insert(key)
                if world.start(key) {
                    #expect(!turnIsUnderWay)
                    turnIsUnderWay = true
                }
            case 3, 4:
                wanted.remove(key)
                if world.stop(key) { turnIsUnderWay = true }
            case 5: endTurn()
            case 6:
                guard let (id, item) = inFlight.min(by: { $0.key < $1.key }) else { continue }
                inFlight[id] = nil
                // A finished request is no longer wanted unless it is started again.
                wanted.remove(item)
                check(world.machine.ended(id, with: .loaded))
            default:
                if world.machine.isPaused { check(world.machine.resumed()) } else { world.machine.paused() }
            }
        }
        check(world.machine.resumed())
        endTurn()
    }
}
