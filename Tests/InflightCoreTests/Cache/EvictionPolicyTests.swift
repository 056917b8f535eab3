import InflightTestSupport
import Testing

@testable import InflightCore

/// Maps keys to the slots of a policy, as a cache does, and checks the invariants.
private struct Model {
    var policy: EvictionPolicy
    var slots: [Int: EvictionPolicy.Slot] = [:]
    var costs: [Int: Int] = [:]

    init(limit: Int) {
        policy = EvictionPolicy(limit: limit)
    }

    /// Returns whether the request was a hit.
    mutating func request(_ key: Int, cost: Int) -> Bool {
        if let slot = slots[key], policy.holdsValue(slot) {
            policy.used(slot)
            return true
        }
        insert(key, cost: cost)
        return false
    }

    mutating func insert(_ key: Int, cost: Int) {
        if let slot = slots[key] {
            if policy.holdsValue(slot) {
                policy.replaced(slot, cost: cost)
            } else {
                policy.returned(slot, cost: cost)
            }
        } else {
            slots[key] = policy.added(cost: cost)
        }
        costs[key] = cost
        settle()
    }

    mutating func remove(_ key: Int) {
        guard let slot = slots.removeValue(forKey: key) else { return }
        policy.removed(slot)
        costs[key] = nil
    }

    mutating func settle(downTo target: Int = .max) {
        while let eviction = policy.nextEviction(downTo: target) {
            switch eviction {
            case .release(let slot):
                #expect(!policy.holdsValue(slot))
                guard let key = key(of: slot) else {
                    Issue.record("a slot that nobody has was released")
                    return
                }
                #expect(costs[key] != nil, "released twice")
                costs[key] = nil
            case .forget(let slot):
                guard let key = key(of: slot) else {
                    Issue.record("a slot that nobody has was forgotten")
                    return
                }
                #expect(costs[key] == nil, "forgotten with its value")
                slots[key] = nil
            }
        }
    }

    func check() {
        let cost = costs.values.reduce(0, +)
        #expect(policy.cost == cost)
        #expect(cost <= policy.limit)
        #expect(policy.count == costs.count)
        #expect(policy.ghostCount == slots.count - costs.count)
        for (key, slot) in slots { #expect(policy.holdsValue(slot) == (costs[key] != nil)) }
    }

    private func key(of slot: EvictionPolicy.Slot) -> Int? {
        slots.first { $0.value == slot }?.key
    }
}

@Suite("Eviction policy", .timeLimit(.minutes(10)))
struct EvictionPolicyTests {
    @Test(
        "Random operations keep the bookkeeping exact and the cost within the limit",
        arguments: [(seed: 1, limit: 1000), (2, 1000), (3, 4096), (4, 40), (5, 10), (6, 100_000)])
    func invariants(seed: UInt64, limit: Int) {
        var random = SeededGenerator(seed: seed)
        var model = Model(limit: limit)
        let largest = model.policy.entryLimit
        for _ in 0..<4000 {
            let key = Int.random(in: 0..<60, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<55: _ = model.request(key, cost: Int.random(in: 1...largest, using: &random))
            case 55..<85: model.insert(key, cost: Int.random(in: 1...max(1, largest / 4), using: &random))
            case 85..<97: model.remove(key)
            default:
                let target = Int.random(in: 0...limit, using: &random)
                model.settle(downTo: target)
                #expect(model.policy.cost <= target)
            }
            model.check()
        }
    }

    @Test("A scan through many new keys does not evict frequently used ones")
    func scan() {
        var model = Model(limit: 100 * 10)
        for _ in 0..<5 {
            for key in 0..<60 { _ = model.request(key, cost: 10) }
        }
        for key in 1000..<2000 { _ = model.request(key, cost: 10) }
        let kept = (0..<60).count { model.costs[$0] != nil }
        #expect(kept >= 55)
    }

    @Test("After scrolling down and up repeatedly, the most recent entries stay cached")
    func scroll() {
        var model = Model(limit: 100 * 10)
        // In the first rounds, the most recent keys return first, and the policy adapts to that.
        for turn in 0..<20 {
            let top = turn * 150
            for key in top..<top + 300 { _ = model.request(key, cost: 10) }
            for key in (top..<top + 300).reversed() { _ = model.request(key, cost: 10) }
        }
        for key in 10_000..<10_300 { _ = model.request(key, cost: 10) }
        let found = (10_210..<10_300).reversed().count { model.costs[$0] != nil }
        #expect(found >= 80)
    }

    @Test("A loop slightly larger than the cache hits more than half of the time")
    func loop() {
        var model = Model(limit: 100 * 10)
        var hits = 0
        for _ in 0..<20 {
            for key in 0..<110 where model.request(key, cost: 10) { hits += 1 }
        }
        #expect(hits > 20 * 110 / 2)
    }

    @Test("Large entries used once do not displace many small ones in use")
    func sizes() {
        var model = Model(limit: 1000)
        for _ in 0..<5 {
            for key in 0..<90 { _ = model.request(key, cost: 10) }
        }
        for key in 100..<120 { _ = model.request(key, cost: 100) }
        let kept = (0..<90).count { model.costs[$0] != nil }
        #expect(kept >= 75)
    }

    @Test("Entries that were popular make room for those that are popular now")
    func ageing() {
        var model = Model(limit: 1000)
        for _ in 0..<50 {
            for key in 0..<100 { _ = model.request(key, cost: 10) }
        }
        for _ in 0..<50 {
            for key in 1000..<1090 { _ = model.request(key, cost: 10) }
        }
        let kept = (1000..<1090).count { model.costs[$0] != nil }
        #expect(kept >= 85)
    }

    @Test("Trimming to 0 removes every value but remembers its slot")
    func trim() {
        var model = Model(limit: 1000)
        for key in 0..<50 { _ = model.request(key, cost: 10) }
        model.settle(downTo: 0)
        #expect(model.policy.count == 0)
        #expect(model.policy.ghostCount == 50)
        model.check()
    }
}
