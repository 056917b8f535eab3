import Glibc
import InflightDisk

// Kills processes that write into a disk cache, and looks at what they leave: `make crash N=2000`.
//
//     inflight-crash [--count N | --seconds N] [--processes N] [--seed SEED]
//
// With several processes they share one folder, and everything is compared at the end.

func fail(_ message: String) -> Never {
    print("inflight-crash: \(message)")
    exit(64)
}

if CommandLine.arguments.count > 1, CommandLine.arguments[1] == "victim" {
    let words = Array(CommandLine.arguments[2...])
    guard words.count == 5, let seed = UInt64(words[2]), let limit = Int64(words[3]) else {
        fail("a victim is started by this program itself")
    }
    Victim(
        VictimOptions(
            folder: words[0], probe: words[1], pipe: 3, seed: seed, limit: limit,
            durability: words[4] == "disk" ? .powerCut : .process)
    ).run()
    exit(0)
}

var run = CrashRun()
var arguments = CommandLine.arguments.dropFirst()

@MainActor
func number<Number: FixedWidthInteger>(_ name: String) -> Number {
    guard let text = arguments.popFirst(), let value = Number(text), value > 0 else { fail("\(name) needs a number") }
    return value
}

while let argument = arguments.popFirst() {
    switch argument {
    case "--count": run.kills = number(argument)
    case "--seconds": run.seconds = number(argument)
    case "--processes": run.processes = number(argument)
    case "--seed": run.seed = number(argument)
    default: fail("\(argument) is no option; there are --count, --seconds, --processes, --seed")
    }
}

let summary = await run.run()
let share = summary.inCommit * 100 / max(1, summary.kills)
print(
    "\(summary.kills) kills, \(summary.inCommit) inside a commit (\(share) %), \(summary.acknowledgements) entries "
        + "acknowledged, \(summary.evictions) evicted; the longest open took \(summary.longestOpen)")
for failure in summary.failures.prefix(20) { print("broken: \(failure)") }
if share < 30 { print("broken: too few kills fell inside a commit to say anything") }
exit(summary.failures.isEmpty && share >= 30 ? 0 : 1)
