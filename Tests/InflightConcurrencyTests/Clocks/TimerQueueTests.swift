import Testing

@testable import InflightConcurrency

@Suite(.timeLimit(.minutes(1)))
struct TimerQueueTests {
    private func time(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

    @Test("Elements are due by deadline, and in insertion order if deadlines are equal") func order() {
        var queue = TimerQueue<Int>()
        let deadlines: [Int64] = [5, 3, 9, 3, 1, 9, 5, 0]
        let first = deadlines.enumerated().map { index, deadline in
            queue.insert(index, at: time(deadline)) { _ in false }
        }
        #expect(first == [true, true, false, false, true, false, false, true])
        #expect(queue.takeDue(at: time(-1)) == nil)
        var taken: [Int] = []
        while let next = queue.takeDue(at: time(5)) { taken.append(next) }
        #expect(taken == [7, 4, 1, 3, 0, 6])
        #expect(queue.earliest == time(9))
    }

    @Test("Useless elements are removed when the queue reaches 1024 elements") func removal() {
        var queue = TimerQueue<Int>()
        for number in 0..<100_000 { _ = queue.insert(number, at: time(Int64(number % 977))) { $0 < number - 100 } }
        #expect(queue.count <= 1024)
        var taken: [Int] = []
        while let next = queue.takeDue(at: time(1000)) { taken.append(next % 977) }
        #expect(taken == taken.sorted())
    }
}

@Suite(.timeLimit(.minutes(1)))
struct DescriptorLimitTests {
    @Test(
        "Connections leave a quarter of the descriptors for files and decoders",
        arguments: [(0, 1), (8, 1), (29, 7), (250, 173), (1000, 736)])
    func connectionShare(available: Int, connections: Int) {
        #expect(DescriptorLimit.connections(of: available) == connections)
    }
}

@Suite("Monotonic time")
struct MonotonicTimeTests {
    @Test("Sums and differences that overflow end at the limit on their side")
    func overflow() {
        let (first, last) = (MonotonicTime(nanoseconds: .min), MonotonicTime.distantFuture)
        #expect(last + .seconds(1) == last)
        #expect(first + .seconds(-1) == first)
        #expect(first + .seconds(1) > first)
        #expect(last - first == .nanoseconds(Int64.max))
        #expect(first - last == .nanoseconds(Int64.min))
    }
}
