import Glibc
import InflightTestSupport

// Runs schedules of the simulator on all cores: `make simulate N=1000000`.
//
//     inflight-simulate [--count N] [--from SEED] [--threads N] [--standstill SECONDS] [--record FILE]
//                                              run schedules until one violates a rule or makes no progress for
//                                              SECONDS; write what every task and loader was told into FILE
//     inflight-simulate --seed SEED [--shrink] print the events of one schedule, or of its shortest failing form

var run = SimulationRun()
var seed: UInt64?
var shrinks = false
var recordFile: String?
var arguments = CommandLine.arguments.dropFirst()

func fail(_ message: String) -> Never {
    print("inflight-simulate: \(message)")
    exit(64)
}

@MainActor
func number<Number: FixedWidthInteger>(_ name: String) -> Number {
    guard let text = arguments.popFirst(), let value = Number(text) else { fail("\(name) needs a number") }
    return value
}

while let argument = arguments.popFirst() {
    switch argument {
    case "--count": run.count = number(argument)
    case "--from": run.start = number(argument)
    case "--threads": run.threads = number(argument)
    case "--standstill":
        let seconds: Int = number(argument)
        run.standstill = .seconds(seconds)
    case "--seed": seed = number(argument)
    case "--shrink": shrinks = true
    case "--record":
        guard let file = arguments.popFirst() else { fail("--record needs a file") }
        recordFile = file
    default:
        fail(
            "Unknown option '\(argument)'. Options: --count, --from, --threads, --standstill, --record, --seed, --shrink"
        )
    }
}

func show(_ report: Simulator.Report) {
    for line in report.lines { print("  " + line) }
    print(
        "seed \(report.seed): \(report.kept.count) choices, \(report.tasks) tasks, trace \(String(report.hash, radix: 16))"
    )
    print(report.violation.map { "violation: \($0)" } ?? "no violation")
}

if let seed {
    let report = shrinks ? Simulator.shrink(seed: seed) : Simulator.run(seed: seed, records: true)
    show(report)
    exit(report.violation == nil ? 0 : 1)
}

run.onStandstill = { seed in
    print("seed \(seed) stalls: contract 6: a lock is held while a caller's code runs, or a loop never ends")
    exit(1)
}
var recording: Recording?
if let recordFile {
    recording = Recording(recordFile, first: run.start)
    guard let recording else { fail("Cannot write \(recordFile): \(unsafe String(cString: strerror(errno)))") }
    run.onReport = { recording.add($0) }
}
let summary = run.run()
if let recordFile, let error = recording?.error {
    fail("Cannot write \(recordFile): \(unsafe String(cString: strerror(error)))")
}
print(
    "\(summary.schedules) schedules, \(summary.steps) steps, \(summary.tasks) tasks in \(summary.duration): "
        + "\(Int(summary.schedulesPerSecond)) schedules/s, \(Int(summary.stepsPerSecond)) steps/s "
        + "on \(run.threads) threads")
if let failure = summary.failure {
    print("seed \(failure.seed) violates a rule: \(failure.violation.map { "\($0)" } ?? "")\nIts shortest script:")
    show(Simulator.shrink(seed: failure.seed))
    exit(1)
}
