import Dispatch
import InflightPatterns
import InflightTestSupport
import Testing

@Suite("Work lanes", .timeLimit(.minutes(10)))
struct WorkLaneTests {
    private typealias Slots = Guarded<[WorkLane<String>.Slot]>

    private let log = Log()

    private func add(
        _ name: String, to lane: WorkLane<String>, level: Int = 2, group: String = "", _ slots: Slots
    ) -> WorkLane<String>.Entry {
        let log = log
        return lane.add(level: level, group: group) { slot in
            log.note(name)
            slots.withLock { $0.append(slot) }
        }
    }

    @Test("A work lane runs an entry at once if a slot is free, and queued entries by level, then age")
    func order() {
        let (lane, slots) = (WorkLane<String>(.init(limit: 1)), Slots([]))
        for (name, level) in [("first", 2), ("low", 1), ("old", 3), ("new", 3)] {
            _ = add(name, to: lane, level: level, slots)
        }
        #expect(log.all == ["first"])
        #expect(lane.counts == (1, 3))
        for _ in 0..<4 { slots.withLock { $0.removeFirst() }.release() }
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
            lane.add(level: number % 5, group: name) { slot in
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
                    slot.release()
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
        let (lane, slots, log) = (WorkLane<String>(.init(limit: 1)), Slots([]), log)
        let running = add("running", to: lane, slots)
        let waiting: WorkLane<String>.Entry
        do {
            let witness = ReleaseProbe { log.note("released") }
            waiting = lane.add(level: 2, group: "") { _ in witness.touch() }
        }
        _ = add("next", to: lane, slots)
        waiting.cancel()
        waiting.cancel()
        #expect(log.all == ["running", "released"])
        running.cancel()
        running.move(toLevel: 4)
        #expect(lane.counts == (1, 1))
        slots.withLock { $0.removeFirst() }.release()
        #expect(log.all == ["running", "released", "next"])
    }

    @Test("A queued entry can move to another level")
    func moved() {
        let (lane, slots) = (WorkLane<String>(.init(limit: 1)), Slots([]))
        _ = add("running", to: lane, slots)
        _ = add("a", to: lane, slots)
        add("b", to: lane, slots).move(toLevel: 4)
        for _ in 0..<3 { slots.withLock { $0.removeFirst() }.release() }
        #expect(log.all == ["running", "b", "a"])
    }

    @Test("A slot is returned only once, and automatically when its work drops it")
    func slots() {
        let (lane, slots) = (WorkLane<String>(.init(limit: 1)), Slots([]))
        lane.add(level: 2, group: "") { _ in }
        #expect(lane.counts == (0, 0))
        _ = add("a", to: lane, slots)
        _ = add("b", to: lane, slots)
        let first = slots.withLock { $0.removeFirst() }
        first.release()
        first.release()
        #expect(lane.counts == (1, 0))
    }

    @Test("Running twenty thousand queued entries at once does not nest their calls")
    func manyAtOnce() {
        let (lane, slots) = (WorkLane<String>(.init(limit: 1)), Slots([]))
        _ = add("first", to: lane, slots)
        let calls = Guarded(0)
        for _ in 0..<20_000 { lane.add(level: 2, group: "") { _ in calls.withLock { $0 += 1 } } }
        slots.withLock { $0.removeFirst() }.release()
        #expect(calls.withLock { $0 } == 20_000)
    }
}
