import Testing

@testable import InflightCore

@Suite("A budget of memory", .timeLimit(.minutes(10)))
struct MemoryBudgetTests {
    @Test("what fits is taken, what does not waits, and what never fits is refused")
    func answers() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        #expect(budget.take(101, for: "b") == .refused)
        #expect(budget.take(41, for: "c") == .waits)
        #expect(budget.taken == 60)
        #expect(budget.given(back: 60) == ["c"])
        #expect(budget.taken == 41)
    }

    @Test("nobody overtakes the one that waits first, so that what is large has its turn")
    func order() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        #expect(budget.take(100, for: "large") == .waits)
        #expect(budget.take(1, for: "small") == .waits)
        #expect(budget.takeNow(1) == false)
        #expect(budget.given(back: 60) == ["large"])
        #expect(budget.given(back: 100) == ["small"])
        #expect(budget.takeNow(99) == true)
        #expect(budget.takeNow(1) == false)
    }

    @Test("the more urgent goes first, at once where it fits, and a change of priority moves the one that waits")
    func priorities() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        for name in ["b", "c", "d"] { #expect(budget.take(50, for: name) == .waits) }
        #expect(budget.take(40, for: "urgent", priority: .high) == .taken)
        #expect(budget.take(60, for: "later", priority: .low) == .waits)
        #expect(budget.move(to: .high) { $0 == "c" } == [])
        #expect(budget.move(to: .low) { $0 == "b" } == [])
        #expect(budget.move(to: .low) { $0 == "gone" } == [])
        #expect(budget.given(back: 100) == ["c", "d"])
        #expect(budget.given(back: 50) == [])
        #expect(budget.move(to: .normal) { $0 == "b" } == ["b"])
        #expect(budget.given(back: 100) == ["later"])
    }

    @Test("one that gives up lets those behind it pass")
    func gaveUp() {
        var budget = MemoryBudget<String>(limit: 100)
        #expect(budget.take(60, for: "a") == .taken)
        #expect(budget.take(100, for: "large") == .waits)
        #expect(budget.take(20, for: "b") == .waits)
        #expect(budget.take(20, for: "c") == .waits)
        let left = budget.gaveUp { $0 == "large" }
        #expect(left.waiter == "large" && left.next == ["b", "c"])
        #expect(budget.gaveUp { $0 == "large" }.waiter == nil)
        #expect(budget.taken == 100)
    }

    @Test("a limit of nothing lets what needs nothing pass")
    func nothing() {
        var budget = MemoryBudget<String>(limit: -1)
        #expect(budget.take(0, for: "a") == .taken)
        #expect(budget.take(1, for: "b") == .refused)
    }
}
