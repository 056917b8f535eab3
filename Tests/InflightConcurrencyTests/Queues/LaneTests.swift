import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Lanes", .timeLimit(.minutes(10)))
struct LaneTests {
    private typealias Names = Lane<String, String>

    private static func seconds(_ count: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: count * 1_000_000_000)
    }

    private func lane(limit: Int, _ change: (inout Names.Configuration) -> Void = { _ in }) -> Names {
        var configuration = Names.Configuration(limit: limit)
        change(&configuration)
        return Names(configuration)
    }

    /// Dequeues everything that may run now, and releases each slot at once.
    private func drain(_ lane: inout Names, groups: [String: String] = [:], now: MonotonicTime = .zero) -> [String] {
        var order: [String] = []
        while let next = lane.next(now: now) {
            order.append(next)
            lane.release(group: groups[next] ?? "g", now: now)
        }
        return order
    }

    @Test("A lane dequeues higher levels first, and within a level the oldest element first")
    func order() {
        var lane = lane(limit: 1)
        for (name, level) in [("a", 2), ("b", 4), ("c", 2), ("d", 0), ("e", 4)] {
            _ = lane.enqueue(name, level: level, group: "g", now: .zero)
        }
        #expect(drain(&lane) == ["b", "e", "a", "c", "d"])
    }

    @Test("In each level, the newest of those added ahead goes first, then the oldest of the others")
    func mixedOrder() {
        var lane = lane(limit: 1)
        for name in ["old", "Old", "new", "New"] {
            let ahead = name.first!.isUppercase
            _ = lane.enqueue(name, level: 2, group: "g", now: .zero, ahead: ahead)
            _ = lane.enqueue(name + "er", level: 3, group: "g", now: .zero, ahead: ahead)
        }
        #expect(drain(&lane) == ["Newer", "Older", "older", "newer", "New", "Old", "old", "new"])
    }

    @Test("Elements parked for a full group keep their order, whenever they were examined", arguments: [false, true])
    func parkedOrder(isFirstAhead: Bool) {
        var lane = lane(limit: 9) { $0.groupLimit = 1 }
        _ = lane.enqueue("runs", level: 2, group: "g", now: .zero)
        #expect(lane.next(now: .zero) == "runs")
        _ = lane.enqueue("a", level: 2, group: "g", now: .zero, ahead: isFirstAhead)
        // Examined and parked, because the group is full.
        #expect(lane.next(now: .zero) == nil)
        for name in ["b", "c"] { _ = lane.enqueue(name, level: 2, group: "g", now: .zero, ahead: true) }
        #expect(lane.next(now: .zero) == nil)
        lane.release(group: "g", now: .zero)
        #expect(drain(&lane) == ["c", "b", "a"])
    }

    @Test("Newer elements that go ahead cannot starve older ones: raised ones go in order of arrival")
    func raisedInOrderOfArrival() {
        var lane = lane(limit: 1) { $0.raiseAfter = .seconds(10) }
        _ = lane.enqueue("runs", level: 3, group: "g", now: .zero)
        #expect(lane.next(now: .zero) == "runs")
        for (second, name) in ["first", "second", "third"].enumerated() {
            _ = lane.enqueue(name, level: 3, group: "g", now: Self.seconds(Int64(second)), ahead: true)
        }
        // Two have waited for ten seconds.
        _ = lane.enqueue("newest", level: 3, group: "g", now: Self.seconds(11), ahead: true)
        lane.release(group: "g", now: Self.seconds(11))
        #expect(drain(&lane, now: Self.seconds(11)) == ["first", "second", "newest", "third"])
    }

    @Test("A lane never exceeds its limit")
    func limit() {
        var lane = lane(limit: 2)
        for name in ["a", "b", "c"] { _ = lane.enqueue(name, level: 2, group: "g", now: .zero) }
        #expect(lane.next(now: .zero) == "a")
        #expect(lane.next(now: .zero) == "b")
        #expect(lane.next(now: .zero) == nil)
        lane.release(group: "g", now: .zero)
        #expect(lane.next(now: .zero) == "c")
        #expect(lane.running == 2)
    }

    @Test("A full group does not block elements of other groups")
    func fullGroup() {
        var lane = lane(limit: 10) { $0.groupLimit = 1 }
        for (name, group) in [("a1", "A"), ("a2", "A"), ("b1", "B"), ("a3", "A")] {
            _ = lane.enqueue(name, level: 2, group: group, now: .zero)
        }
        #expect(lane.next(now: .zero) == "a1")
        #expect(lane.next(now: .zero) == "b1")
        #expect(lane.next(now: .zero) == nil)
        lane.release(group: "A", now: .zero)
        #expect(lane.next(now: .zero) == "a2")
        #expect(lane.next(now: .zero) == nil)
        lane.release(group: "A", now: .zero)
        #expect(lane.next(now: .zero) == "a3")
    }

    @Test("Elements parked for their group keep their place ahead of later elements")
    func parkedOrder() {
        var lane = lane(limit: 10) { $0.groupLimit = 1 }
        for (name, group) in [("a1", "A"), ("a2", "A"), ("b1", "B")] {
            _ = lane.enqueue(name, level: 2, group: group, now: .zero)
        }
        #expect(lane.next(now: .zero) == "a1")
        #expect(lane.next(now: .zero) == "b1")
        _ = lane.enqueue("c1", level: 2, group: "C", now: .zero)
        lane.release(group: "A", now: .zero)
        #expect(lane.next(now: .zero) == "a2")
        #expect(lane.next(now: .zero) == "c1")
    }

    @Test("Raising the limit of a group lets its queued elements run")
    func raisedLimit() {
        var lane = lane(limit: 10) { $0.groupLimit = 1 }
        for name in ["a", "b", "c"] { _ = lane.enqueue(name, level: 2, group: "g", now: .zero) }
        #expect(lane.next(now: .zero) == "a")
        #expect(lane.next(now: .zero) == nil)
        lane.setLimit(3, of: "g", now: .zero)
        #expect(lane.next(now: .zero) == "b")
        #expect(lane.next(now: .zero) == "c")
    }

    @Test("A parked element can move to another level")
    func moving() {
        var lane = lane(limit: 10) { $0.groupLimit = 1 }
        _ = lane.enqueue("a", level: 2, group: "g", now: .zero)
        let b = lane.enqueue("b", level: 2, group: "g", now: .zero)
        let c = lane.enqueue("c", level: 2, group: "g", now: .zero)
        #expect(lane.next(now: .zero) == "a")
        #expect(lane.next(now: .zero) == nil)
        lane.move(c, toLevel: 4, now: .zero)
        lane.release(group: "g", now: .zero)
        #expect(lane.next(now: .zero) == "c")
        #expect(lane.remove(b) == "b")
        #expect(lane.waiting == 0)
    }

    @Test("An element enqueued ahead is dequeued before all others of its level")
    func ahead() {
        var lane = lane(limit: 1)
        for name in ["a", "b"] { _ = lane.enqueue(name, level: 2, group: "g", now: .zero) }
        _ = lane.enqueue("again", level: 2, group: "g", now: .zero, ahead: true)
        #expect(drain(&lane) == ["again", "a", "b"])
    }

    @Test("Elements of the lowest level cannot use the reserved slots of a lane")
    func reserve() {
        var lane = lane(limit: 4) { $0.reserve = 1 }
        for index in 0..<5 { _ = lane.enqueue("low\(index)", level: 0, group: "g", now: .zero) }
        for index in 0..<3 { #expect(lane.next(now: .zero) == "low\(index)") }
        #expect(lane.next(now: .zero) == nil)
        _ = lane.enqueue("normal", level: 2, group: "g", now: .zero)
        #expect(lane.next(now: .zero) == "normal")
    }

    @Test(
        "Elements of low levels leave a quarter of their group's slots free, at least one of several",
        arguments: [(1, 1), (2, 1), (3, 2), (6, 5), (8, 6)])
    func groupReserve(limit: Int, unreserved: Int) {
        var lane = lane(limit: 100) {
            $0.groupLimit = limit
            $0.reservesInGroups = true
        }
        for index in 0..<100 { _ = lane.enqueue("low", level: index % 2, group: "g", now: .zero) }
        while lane.next(now: .zero) != nil {}
        #expect(lane.running(of: "g") == unreserved)
        for _ in 0..<limit { _ = lane.enqueue("normal", level: 2, group: "g", now: .zero) }
        while lane.next(now: .zero) != nil {}
        #expect(lane.running(of: "g") == limit)
        lane.setLimit(64, of: "g", now: .zero)
        while lane.next(now: .zero) != nil {}
        #expect(lane.running(of: "g") == 48)
    }

    @Test("A long wait raises an element to a higher level when a slot is released, so that nothing starves")
    func raising() {
        var lane = lane(limit: 1) { $0.raiseAfter = .seconds(10) }
        _ = lane.enqueue("old", level: 1, group: "g", now: .zero)
        _ = lane.enqueue("first", level: 2, group: "g", now: .zero)
        #expect(lane.next(now: .zero) == "first")
        _ = lane.enqueue("young", level: 2, group: "g", now: Self.seconds(11))
        lane.release(group: "g", now: Self.seconds(11))
        #expect(lane.next(now: Self.seconds(11)) == "young")
        _ = lane.enqueue("younger", level: 2, group: "g", now: Self.seconds(12))
        lane.release(group: "g", now: Self.seconds(12))
        #expect(lane.next(now: Self.seconds(12)) == "old")
    }

    @Test("Adding an element does not start another one that has waited long")
    func addingRaisesNothing() {
        var lane = lane(limit: 4) {
            $0.reserve = 1
            $0.raiseAfter = .seconds(10)
        }
        for name in ["a", "b", "c", "old"] { _ = lane.enqueue(name, level: 1, group: name, now: .zero) }
        for name in ["a", "b", "c"] { #expect(lane.next(now: .zero) == name) }
        #expect(lane.next(now: .zero) == nil, "the last slot is reserved")
        _ = lane.enqueue("young", level: 1, group: "young", now: Self.seconds(11))
        #expect(lane.next(now: Self.seconds(11)) == nil)
        lane.release(group: "a", now: Self.seconds(11))
        #expect(lane.next(now: Self.seconds(11)) == "old")
    }

    @Test("A long wait raises an element into the reserve of a group that releases no slot")
    func raisingIntoTheReserve() {
        var lane = lane(limit: 8) {
            $0.groupLimit = 2
            $0.reservesInGroups = true
            $0.raiseAfter = .seconds(10)
        }
        _ = lane.enqueue("endless", level: 1, group: "g", now: .zero)
        _ = lane.enqueue("old", level: 1, group: "g", now: .zero)
        _ = lane.enqueue("younger", level: 1, group: "g", now: Self.seconds(1))
        _ = lane.enqueue("other", level: 1, group: "h", now: Self.seconds(1))
        #expect(lane.next(now: Self.seconds(1)) == "endless")
        #expect(lane.next(now: Self.seconds(1)) == "other")
        #expect(lane.next(now: Self.seconds(1)) == nil, "the other slot of the group is reserved")
        lane.release(group: "h", now: Self.seconds(12))
        #expect(lane.next(now: Self.seconds(12)) == "old")
        #expect(lane.next(now: Self.seconds(12)) == nil)
    }

    @Test("An element that waits for its group is not overtaken when a later one is raised")
    func raisingInOrder() {
        var lane = lane(limit: 2) {
            $0.groupLimit = 2
            $0.reservesInGroups = true
            $0.raiseAfter = .seconds(10)
        }
        _ = lane.enqueue("running", level: 1, group: "g", now: .zero)
        _ = lane.enqueue("other", level: 2, group: "h", now: .zero)
        #expect(lane.next(now: .zero) == "other")
        #expect(lane.next(now: .zero) == "running")
        lane.release(group: "h", now: .zero)
        _ = lane.enqueue("old", level: 1, group: "g", now: .zero)
        #expect(lane.next(now: .zero) == nil)
        _ = lane.enqueue("other", level: 2, group: "h", now: .zero)
        #expect(lane.next(now: .zero) == "other")
        _ = lane.enqueue("younger", level: 1, group: "g", now: .zero)
        lane.release(group: "h", now: Self.seconds(10))
        #expect(lane.next(now: Self.seconds(10)) == "old")
    }

    @Test(
        "A lane agrees with a simple model over many random operations", arguments: [false, true], [false, true])
    func model(reserves: Bool, mixesOrders: Bool) {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            var lane = Lane<Int, Int>(
                {
                    var configuration = Lane<Int, Int>.Configuration(limit: 3)
                    configuration.groupLimit = 2
                    configuration.reservesInGroups = reserves
                    return configuration
                }())
            // The model: queued elements in order, with level and group, and the groups of the running ones.
            // An element that was added ahead has a negative number in the order of its level.
            var waiting: [(id: Int, level: Int, order: Int, group: Int, ticket: Lane<Int, Int>.Ticket)] = []
            var running: [Int] = []
            for step in 0..<300 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4:
                    let level = Int.random(in: 0..<5, using: &random)
                    let group = Int.random(in: 0..<3, using: &random)
                    let ahead = mixesOrders && Bool.random(using: &random)
                    let ticket = lane.enqueue(step, level: level, group: group, now: .zero, ahead: ahead)
                    waiting.append((step, level, ahead ? -step : step, group, ticket))
                case 4 where !waiting.isEmpty:
                    let index = Int.random(in: 0..<waiting.count, using: &random)
                    #expect(lane.remove(waiting[index].ticket) == waiting[index].id)
                    waiting.remove(at: index)
                case 5 where !waiting.isEmpty:
                    let index = Int.random(in: 0..<waiting.count, using: &random)
                    let level = Int.random(in: 0..<5, using: &random)
                    let ahead = mixesOrders && Bool.random(using: &random)
                    lane.move(waiting[index].ticket, toLevel: level, ahead: ahead, now: .zero)
                    guard waiting[index].level != level else { continue }
                    (waiting[index].level, waiting[index].order) = (level, ahead ? -step : step)
                case 6..<8 where !running.isEmpty:
                    let index = Int.random(in: 0..<running.count, using: &random)
                    lane.release(group: running.remove(at: index), now: .zero)
                default:
                    let free = waiting.indices.filter { index in
                        let limit = reserves && waiting[index].level < 2 ? 1 : 2
                        return running.filter { $0 == waiting[index].group }.count < limit
                    }
                    let expected = free.min {
                        (-waiting[$0].level, waiting[$0].order) < (-waiting[$1].level, waiting[$1].order)
                    }.flatMap { running.count < 3 ? $0 : nil }
                    let next = lane.next(now: .zero)
                    #expect(next == expected.map { waiting[$0].id })
                    if let expected { running.append(waiting.remove(at: expected).group) }
                }
                #expect(lane.waiting == waiting.count)
                #expect(lane.running == running.count)
            }
        }
    }

    @Test("A lane never keeps an element waiting for which there is a slot, whatever was raised", arguments: 0..<200)
    func noIdleSlot(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var configuration = Lane<Int, Int>.Configuration(limit: Int.random(in: 1...4, using: &random))
        configuration.groupLimit = Int.random(in: 1...3, using: &random)
        configuration.reserve = Lane<Int, Int>.Configuration.reserve(of: configuration.limit)
        configuration.reservesInGroups = Bool.random(using: &random)
        var lane = Lane<Int, Int>(configuration)
        var waiting: [Int: (group: Int, ticket: Lane<Int, Int>.Ticket)] = [:]
        var running: [Int] = []
        var now = MonotonicTime.zero
        for step in 0..<400 {
            now = now + .seconds(Int.random(in: 0...4, using: &random))
            let ahead = Bool.random(using: &random)
            let level = Int.random(in: 0..<5, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3:
                let group = Int.random(in: 0..<3, using: &random)
                let ticket = lane.enqueue(step, level: level, group: group, now: now, ahead: ahead)
                waiting[step] = (group, ticket)
            case 3:
                guard let (id, entry) = waiting.min(by: { $0.key < $1.key }) else { continue }
                lane.remove(entry.ticket)
                waiting[id] = nil
            case 4:
                guard let entry = waiting.max(by: { $0.key < $1.key })?.value else { continue }
                lane.move(entry.ticket, toLevel: level, ahead: ahead, now: now)
            default:
                guard !running.isEmpty else { continue }
                lane.release(group: running.remove(at: Int.random(in: 0..<running.count, using: &random)), now: now)
            }
            while let id = lane.next(now: now) { running.append(waiting.removeValue(forKey: id)!.group) }
            for (id, entry) in waiting {
                let isLow = lane.level(of: entry.ticket) < configuration.reservedFromLevel
                let limit = configuration.limit - (isLow && configuration.limit > 1 ? configuration.reserve : 0)
                let groupReserve = Lane<Int, Int>.Configuration.reserve(of: configuration.groupLimit)
                let reservesGroup = isLow && configuration.reservesInGroups
                let groupLimit = configuration.groupLimit - (reservesGroup ? groupReserve : 0)
                let isFree = running.count < limit && running.count { $0 == entry.group } < groupLimit
                #expect(!isFree, "\(id) waits at step \(step)")
                if isFree { return }
            }
        }
    }
}
