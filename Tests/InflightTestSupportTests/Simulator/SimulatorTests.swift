import Foundation
import InflightContract
import Testing

@testable import InflightTestSupport

@Suite("Simulator", .timeLimit(.minutes(10)))
struct SimulatorTests {
    @Test("The simulator finds no violation in 200 schedules")
    func holds() {
        var run = SimulationRun()
        run.threads = 2
        run.count = 200
        let summary = run.run()
        let script = summary.failure.map { Simulator.shrink(seed: $0.seed) }
        #expect(
            script == nil,
            "seed \(script?.seed ?? 0): \(script?.violation?.description ?? "")\n\(script?.lines.joined(separator: "\n") ?? "")"
        )
        #expect(summary.schedules == 200)
    }

    @Test("A thread that waits for a processor does not stand still; a blocked or endless one does")
    func standstill() {
        func checks(of schedules: [Int], milliseconds: [Int]) -> [Bool] {
            var watch = SimulationRun.Watch()
            return zip(schedules, milliseconds).map {
                watch.check(schedule: $0, time: .milliseconds($1), standstill: .seconds(10))
            }
        }
        #expect(checks(of: [0, 0, 0, 0], milliseconds: [5, 5, 5, 5]).allSatisfy { !$0 })
        #expect(checks(of: [7, 7, 7, 7], milliseconds: [5, 6, 7, 8]).allSatisfy { !$0 })
        #expect(checks(of: [7, 7, 7, 7], milliseconds: [5, 5, 6, 6]).allSatisfy { !$0 })
        #expect(checks(of: [7, 7, 8, 8], milliseconds: [5, 5, 5, 5]).allSatisfy { !$0 })
        #expect(checks(of: [7, 7, 7], milliseconds: [5, 5, 5]) == [false, false, true])
        #expect(checks(of: [7, 7, 7], milliseconds: [5, 5_005, 10_005]) == [false, false, true])
    }

    @Test("A seed replays the same schedule, and another seed gives another", arguments: [3, 17, 4711] as [UInt64])
    func replays(seed: UInt64) {
        let first = Simulator.run(seed: seed)
        let second = Simulator.run(seed: seed, records: true)
        #expect(first.hash == second.hash)
        #expect(first.steps == second.steps)
        #expect(!second.lines.isEmpty)
        #expect(Simulator.run(seed: seed + 1).hash != first.hash)
    }

    @Test("A recording has one line for each task and loader, with every ending in it")
    func sequences() {
        for seed in 1...20 as ClosedRange<UInt64> {
            let report = Simulator.run(seed: seed, records: true)
            let subjects = report.sequences.map { $0.prefix { $0 != ":" } }
            #expect(Set(subjects).count == subjects.count)
            // Loads of loaders are tasks of the model, too. Their events are the loader's.
            let tasks = subjects.filter { $0.hasPrefix("task ") }
            #expect(tasks.count > 10 && tasks.count <= report.tasks, "seed \(seed)")
            let endings = report.lines.count { $0.contains(" ends: ") && $0.drop { $0 == " " }.hasPrefix("task ") }
            let told = report.sequences.reduce(0) { $0 + $1.components(separatedBy: " ends: ").count - 1 }
            #expect(endings > 0 && told == endings, "seed \(seed)")
            #expect(Simulator.run(seed: seed).sequences.isEmpty)
        }
    }

    @Test("A schedule has at least 200 steps, 20 tasks, 4 keys and 3 queue kinds, and every part can fail")
    func size() {
        var faults = Simulator.Faults()
        for seed in 1...200 as ClosedRange<UInt64> {
            let report = Simulator.run(seed: seed)
            #expect(report.steps >= 200)
            #expect(report.tasks >= 20, "seed \(seed)")
            #expect(report.keys >= 4, "seed \(seed)")
            #expect(report.queueKinds >= 3, "seed \(seed)")
            faults.transport += report.faults.transport
            faults.pixels += report.faults.pixels
            faults.queues += report.faults.queues
            faults.hooks += report.faults.hooks
        }
        #expect(faults.transport > 200)
        #expect(faults.pixels > 100)
        #expect(faults.queues > 100)
        #expect(faults.hooks > 100)
    }

    @Test(
        "Shrinking a schedule gives a short script of the same violation, which replays",
        arguments: [
            "of willSend throws", "again, call", "didReceive throws", "source 10 throws", "task 3 loads a fallback",
            "loader 1 shows", "loader 0 failed", "the prefetcher stops: ",
        ])
    func shrinks(what: String) throws {
        let rule: Simulator.Rule = { $0.contains(what) ? Violation(rule: 99, message: $0) : nil }
        let seed = try #require(
            (1...2_000 as ClosedRange<UInt64>).first { Simulator.run(seed: $0, rule: rule).violation != nil })
        let whole = Simulator.run(seed: seed, records: true, rule: rule)
        #expect(whole.violation?.rule == 99)
        let again = Simulator.run(seed: seed, records: true, rule: rule)
        #expect(again.hash == whole.hash && again.lines == whole.lines)
        let short = Simulator.shrink(seed: seed, rule: rule)
        #expect(short.violation?.rule == 99)
        #expect(short.kept.count < 60 && short.kept.count < whole.kept.count)
        #expect(short.lines.contains { $0.contains(what) })
        #expect(Simulator.shrink(seed: seed, rule: rule).hash == short.hash)
    }
}
