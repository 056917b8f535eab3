import Foundation
import InflightTestSupport
import Testing

@testable import InflightStress

// A short run; `make stress MINUTES=5` is a long one.
@Suite("Random operations by 16 threads over real queues of every kind", .timeLimit(.minutes(10)), .serialized)
struct StressTests {
    private func makeRun(_ operations: Int, underSanitizer: Int) -> StressRun {
        var run = StressRun()
        run.seed = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? 1
        // The thread sanitizer makes an operation thirty times slower: the Swift runtime's own lock serves all threads.
        run.operations = Sanitizer.isOn ? underSanitizer : operations
        return run
    }

    private func check(_ report: StressRun.Report) {
        #expect(report.violations == [], "seed \(report.seed): \(report)")
        // Every kind of operation occurred, and not everything was cancelled.
        for entry in Tally.Entry.allCases where report.tally[entry] == 0 {
            Issue.record("\(entry) never happened: \(report)")
        }
        #expect(report.tally[.success] > report.operations / 20)
        #expect(report.pipelines > 2)
    }

    @Test("Random operations keep every rule of the contract over an in-memory transport")
    func inMemory() async throws {
        check(try await makeRun(40_000, underSanitizer: 14_000).run())
    }

    @Test("Random operations keep every rule of the contract over libcurl and real sockets")
    func overSockets() async throws {
        var run = makeRun(12_000, underSanitizer: 8_000)
        run.overSockets = true
        check(try await run.run())
    }
}
