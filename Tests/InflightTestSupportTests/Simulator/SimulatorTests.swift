import InflightContract
import InflightTestSupport
import Testing

@Suite("The simulator", .timeLimit(.minutes(3)))
struct SimulatorTests {
    @Test("finds no rule broken in 200 schedules")
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

    @Test("gives the same schedule for the same seed, and another for another", arguments: [3, 17, 4711] as [UInt64])
    func replays(seed: UInt64) {
        let first = Simulator.run(seed: seed)
        let second = Simulator.run(seed: seed, records: true)
        #expect(first.hash == second.hash)
        #expect(first.steps == second.steps)
        #expect(!second.lines.isEmpty)
        #expect(Simulator.run(seed: seed + 1).hash != first.hash)
    }

    @Test("makes at least 200 choices for at least 20 tasks in a schedule")
    func size() {
        for seed in 1...50 as ClosedRange<UInt64> {
            let report = Simulator.run(seed: seed)
            #expect(report.steps >= 200)
            #expect(report.tasks >= 20, "seed \(seed)")
        }
    }
}
