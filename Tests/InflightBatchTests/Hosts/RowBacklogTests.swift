import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Rows outside of the window", .timeLimit(.minutes(1)))
struct RowBacklogTests {
    @Test("Rows leave in the order in which they came, whatever their numbers and times")
    func order() throws {
        for seed in 0..<20 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var backlog = RowBacklog()
            var expected: [(number: Int, since: Duration)] = []
            for _ in 0..<20_000 {
                if Int.random(in: 0..<5, using: &random) < 3 {
                    let isFar = Int.random(in: 0..<50, using: &random) == 0
                    let number = isFar ? Int.random(in: 0..<1 << 53, using: &random) : (expected.last?.number ?? 0) + 1
                    let since = Duration.milliseconds(Int.random(in: 0..<1 << 40, using: &random))
                    backlog.append(number, since: since)
                    expected.append((number, since))
                } else if let first = expected.first {
                    #expect(backlog.first?.number == first.number)
                    let removed = backlog.removeFirst()
                    guard removed == first else {
                        Issue.record("\(removed) is not \(first), seed \(seed)")
                        return
                    }
                    expected.removeFirst()
                }
                #expect(backlog.isEmpty == expected.isEmpty)
            }
        }
    }

    @Test("The time of a row is exact to a millisecond")
    func time() {
        var backlog = RowBacklog()
        backlog.append(7, since: .microseconds(1_500_900))
        backlog.append(3, since: .nanoseconds(999_999))
        #expect(backlog.removeFirst() == (7, .milliseconds(1_500)))
        #expect(backlog.removeFirst() == (3, .zero))
        #expect(backlog.isEmpty)
    }
}
