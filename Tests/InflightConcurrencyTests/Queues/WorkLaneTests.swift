import Dispatch
import InflightConcurrency
import Testing

@Suite("Work lanes", .timeLimit(.minutes(10)))
struct WorkLaneTests {
    private typealias Places = Guarded<[WorkLane<String>.Place]>

    private let log = Log()

    private func add(
        _ name: String, to lane: WorkLane<String>, level: Int = 2, group: String = "", _ places: Places
    ) -> WorkLane<String>.Entry {
        let log = log
        return lane.add(level: level, group: group) { place in
            log.note(name)
            places.withLock { $0.append(place) }
        }
    }

    @Test("A work lane runs an entry at once if a slot is free, and queued entries by level, then age")
    func order() {
        let (lane, places) = (WorkLane<String>(.init(limit: 1)), Places([]))
        for (name, level) in [("first", 2), ("low", 1), ("old", 3), ("new", 3)] {
            _ = add(name, to: lane, level: level, places)
        }
        #expect(log.all == ["first"])
        #expect(lane.counts == (1, 3))
        for _ in 0..<4 { places.withLock { $0.removeFirst() }.giveBack() }
        #expect(log.all == ["first", "old", "new", "low"])
        #expect(lane.counts == (0, 0))
    }

    @Test("A work lane never exceeds its limit or that of a group")
    func bounds() async {
        var configuration = Lane<WorkLane<String>.Entry, String>.Configuration(limit: 3)
        configuration.groupLimit = 2
        let lane = WorkLane<String>(configuration)
        let most = Guarded((now: [String: Int](), most: [String: Int](), all: 0, mostOfAll: 0))
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let group = WorkGroup(on: .queue(.global())) { end.finish() }
        for number in 0..<500 {
            let name = "\(number % 3)"
            let member = group.enter()
            lane.add(level: number % 5, group: name) { place in
                most.withLock { seen in
                    seen.now[name, default: 0] += 1
                    seen.all += 1
                    seen.most[name] = max(seen.most[name] ?? 0, seen.now[name] ?? 0)
                    seen.mostOfAll = max(seen.mostOfAll, seen.all)
                }
                DispatchQueue.global().async {
                    most.withLock { seen in
                        seen.now[name, default: 0] -= 1
                        seen.all -= 1
                    }
                    place.giveBack()
                    member.leave()
                }
            }
        }
        group.seal()
        for await _ in ended {}
        most.withLock { seen in
            #expect(seen.mostOfAll <= 3 && seen.most.values.allSatisfy { $0 <= 2 })
            #expect(seen.most.count == 3 && seen.all == 0)
        }
    }

    @Test("Cancelling a queued entry releases it before it runs, and cancelling a running one has no effect")
    func cancelled() {
        let (lane, places, log) = (WorkLane<String>(.init(limit: 1)), Places([]), log)
        let running = add("running", to: lane, places)
        let waiting: WorkLane<String>.Entry
        do {
            let witness = ReleaseProbe { log.note("released") }
            waiting = lane.add(level: 2, group: "") { _ in witness.touch() }
        }
        _ = add("next", to: lane, places)
        waiting.cancel()
        waiting.cancel()
        #expect(log.all == ["running", "released"])
        running.cancel()
        running.move(toLevel: 4)
        #expect(lane.counts == (1, 1))
        places.withLock { $0.removeFirst() }.giveBack()
        #expect(log.all == ["running", "released", "next"])
    }

    @Test("A queued entry can move to another level")
    func moved() {
        let (lane, places) = (WorkLane<String>(.init(limit: 1)), Places([]))
        _ = add("running", to: lane, places)
        _ = add("a", to: lane, places)
        add("b", to: lane, places).move(toLevel: 4)
        for _ in 0..<3 { places.withLock { $0.removeFirst() }.giveBack() }
        #expect(log.all == ["running", "b", "a"])
    }

    @Test("A slot is returned only once, and automatically when its work drops it")
    func places() {
        let (lane, places) = (WorkLane<String>(.init(limit: 1)), Places([]))
        lane.add(level: 2, group: "") { _ in }
        #expect(lane.counts == (0, 0))
        _ = add("a", to: lane, places)
        _ = add("b", to: lane, places)
        let first = places.withLock { $0.removeFirst() }
        first.giveBack()
        first.giveBack()
        #expect(lane.counts == (1, 0))
    }

    @Test("Running twenty thousand queued entries at once does not nest their calls")
    func manyAtOnce() {
        let (lane, places) = (WorkLane<String>(.init(limit: 1)), Places([]))
        _ = add("first", to: lane, places)
        let calls = Guarded(0)
        for _ in 0..<20_000 { lane.add(level: 2, group: "") { _ in calls.withLock { $0 += 1 } } }
        places.withLock { $0.removeFirst() }.giveBack()
        #expect(calls.withLock { $0 } == 20_000)
    }
}
