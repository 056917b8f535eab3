import Glibc
import InflightConcurrency

// Runs random operations over real threads and queues: `make stress MINUTES=5`.
//
//     inflight-stress [--minutes N | --operations N] [--seed SEED] [--threads N] [--sockets]

var run = StressRun()
var arguments = CommandLine.arguments.dropFirst()

func fail(_ message: String) -> Never {
    print("inflight-stress: \(message)")
    exit(64)
}

@MainActor
func number<Number: FixedWidthInteger>(_ name: String) -> Number {
    guard let text = arguments.popFirst(), let value = Number(text), value > 0 else {
        fail("\(name) needs a positive number")
    }
    return value
}

while let argument = arguments.popFirst() {
    switch argument {
    case "--minutes":
        let minutes: Int = number(argument)
        run.duration = .seconds(60 * minutes)
    case "--operations": run.operations = number(argument)
    case "--seed": run.seed = number(argument)
    case "--threads": run.threads = number(argument)
    case "--sockets": run.overSockets = true
    default:
        fail("Unknown option '\(argument)'. Options: --minutes, --operations, --seed, --threads, --sockets")
    }
}
if run.duration == nil, run.operations == nil { run.operations = 1_000_000 }
run.onTick = { print($0) }
print("seed \(run.seed), \(run.threads) threads, \(run.overSockets ? "over sockets" : "in memory")")
let report = try await run.run()
print(report)
for violation in report.violations { print("broken: \(violation)") }
if !report.violations.isEmpty {
    print("Repeat with SEED=\(report.seed). The threads' timing differs in each run.")
    exit(1)
}
print("every rule holds")
