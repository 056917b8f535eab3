import Testing

@testable import InflightCore

@Suite("Decode memory budget", .timeLimit(.minutes(10)))
struct MemoryBudgetTests {
    @Test("A request that fits is granted, one that does not waits, and one that never fits is refused")
    func answers() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        #expect(budget.take(101, for: "b") == .refused)
        #expect(budget.take(41, for: "c") == .waits)
        #expect(budget.taken == 60)
        #expect(budget.release(60) == ["c"])
        #expect(budget.taken == 41)
    }

    @Test("No request of equal priority overtakes the first waiter, so that a large one gets its turn")
    func order() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        #expect(budget.take(100, for: "large") == .waits)
        #expect(budget.take(1, for: "small") == .waits)
        #expect(budget.takeNow(1) == false)
        #expect(budget.release(60) == ["large"])
        #expect(budget.release(100) == ["small"])
        #expect(budget.takeNow(99) == true)
        #expect(budget.takeNow(1) == false)
    }

    @Test("A more urgent request goes first, and a priority change moves a waiting one")
    func priorities() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        for name in ["b", "c", "d"] { #expect(budget.take(50, for: name) == .waits) }
        #expect(budget.take(40, for: "urgent", priority: .high) == .taken)
        #expect(budget.take(60, for: "later", priority: .low) == .waits)
        #expect(budget.move(to: .high) { $0 == "c" } == [])
        #expect(budget.move(to: .low) { $0 == "b" } == [])
        #expect(budget.move(to: .low) { $0 == "gone" } == [])
        #expect(budget.release(100) == ["c", "d"])
        #expect(budget.release(50) == [])
        #expect(budget.move(to: .normal) { $0 == "b" } == ["b"])
        #expect(budget.release(100) == ["later"])
    }

    @Test("A withdrawn request lets those behind it pass")
    func cancelled() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        #expect(budget.take(100, for: "large") == .waits)
        #expect(budget.take(20, for: "b") == .waits)
        #expect(budget.take(20, for: "c") == .waits)
        let left = budget.cancelled { $0 == "large" }
        #expect(left.waiter == "large" && left.next == ["b", "c"])
        #expect(budget.cancelled { $0 == "large" }.waiter == nil)
        #expect(budget.taken == 100)
    }

    @Test("A negative limit grants only requests of 0 bytes")
    func nothing() {
        var budget = MemoryBudget<String>(limit: -1)
        #expect(budget.take(0, for: "a") == .taken)
        #expect(budget.take(1, for: "b") == .refused)
    }
}
