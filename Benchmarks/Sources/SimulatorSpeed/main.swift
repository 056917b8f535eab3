// Measures the CPU time of simulator schedules and steps on one core, for the whole process.
//
//     SimulatorSpeed [SCHEDULES]

import BenchmarkSupport
import InflightTestSupport

let count = CommandLine.arguments.dropFirst().first.flatMap(UInt64.init) ?? 500
// Warm up, so that one-time initialization is not timed.
for seed in 1...20 as ClosedRange<UInt64> { _ = Simulator.run(seed: seed) }
let start = Usage.now()
var steps = 0
var isBroken = false
for seed in 1...count {
    let report = Simulator.run(seed: seed)
    steps += report.steps
    isBroken = isBroken || report.violation != nil
}
let used = Usage.now() - start
var sample = Sample()
sample.add("schedules", Int(count))
sample.add("steps", steps)
sample.add("cpu", used.cpu)
sample.add("seconds", used.wall)
sample.printAndExit(failed: isBroken)
