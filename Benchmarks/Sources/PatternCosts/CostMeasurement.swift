import CAllocationCount
import Glibc

/// Measures an operation in several turns and prints a line: CPU time of the whole process per operation in
/// nanoseconds, as the median and the minimum of the turns, and allocations per operation.
enum CostMeasurement {
    static let turns = 7

    static func processorTime() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// - Parameter body: performs the operation `count` times.
    static func measure(_ name: String, _ count: Int, _ body: () -> Void) {
        let times = (0..<turns).map { _ in
            let start = processorTime()
            body()
            return processorTime() - start
        }
        // Count in a separate turn, because counting takes time.
        let before = inflight_allocations()
        inflight_count_allocations(true)
        body()
        inflight_count_allocations(false)
        tell(name, times, count, inflight_allocations() - before)
    }

    static func measure(_ name: String, _ count: Int, _ body: () async -> Void) async {
        var times: [UInt64] = []
        for _ in 0..<turns {
            let start = processorTime()
            await body()
            times.append(processorTime() - start)
        }
        let before = inflight_allocations()
        inflight_count_allocations(true)
        await body()
        inflight_count_allocations(false)
        tell(name, times, count, inflight_allocations() - before)
    }

    private static func tell(_ name: String, _ times: [UInt64], _ count: Int, _ allocations: UInt64) {
        let sorted = times.sorted()
        let figures = [
            tenths(Double(sorted[sorted.count / 2]) / Double(count)), tenths(Double(sorted[0]) / Double(count)),
            tenths(Double(allocations) / Double(count)),
        ]
        let columns = zip(figures, [" ns,", " at least,", " allocations: "]).map { figure, text in
            String(repeating: " ", count: max(0, 9 - figure.count)) + figure + text
        }
        print(columns.joined() + name)
    }

    private static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}

func measure(_ name: String, _ count: Int, _ body: () -> Void) { CostMeasurement.measure(name, count, body) }
