import Glibc
import InflightDisk

// Kills processes that write into a disk cache, and checks the caches that they leave: `make crash N=2000`.
//
//     inflight-crash [--count N | --seconds N] [--processes N] [--seed SEED]
//     inflight-crash --damage N [--seed SEED]
//
// With several processes in one folder, all entries are checked at the end only. With `--damage` the program kills
// nothing, but damages N caches, each as its seed determines. The cache must not serve damaged entries, crash, hang, or
// lose undamaged entries.

func fail(_ message: String) -> Never {
    print("inflight-crash: \(message)")
    exit(64)
}

if CommandLine.arguments.count > 1, CommandLine.arguments[1] == "victim" {
    let words = Array(CommandLine.arguments[2...])
    guard words.count == 5, let seed = UInt64(words[2]), let limit = Int64(words[3]) else {
        fail("only this program starts victims")
    }
    Victim(
        VictimOptions(
            folder: words[0], probe: words[1], pipe: 3, seed: seed, limit: limit,
            durability: words[4] == "disk" ? .powerCut : .process)
    ).run()
    exit(0)
}

if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "damaged" {
    guard let seed = UInt64(CommandLine.arguments[2]) else { fail("damaged needs a seed") }
    alarm(DamageRun.patience)
    var cache = DamagedCache(seed: seed)
    await cache.run()
    for failure in cache.failures { print(failure) }
    print("found \(cache.found) \(cache.all)")
    exit(0)
}

var run = CrashRun()
var damages: Int?
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
    case "--damage": damages = number(argument)
    case "--processes": run.processes = number(argument)
    case "--seed": run.seed = number(argument)
    default: fail("Unknown option '\(argument)'. Options: --count, --seconds, --damage, --processes, --seed")
    }
}

if let damages {
    let failures = DamageRun(count: damages, seed: run.seed).run()
    for failure in failures.prefix(20) { print("broken: \(failure)") }
    print("\(damages) damaged caches, \(failures.count) failures")
    exit(failures.isEmpty ? 0 : 1)
}

let summary = await run.run()
let share = summary.inCommit * 100 / max(1, summary.kills)
print(
    "\(summary.kills) kills, \(summary.inCommit) inside a commit (\(share) %), \(summary.acknowledgements) entries "
        + "acknowledged, \(summary.evictions) evicted; the longest open took \(summary.longestOpen)")
for failure in summary.failures.prefix(20) { print("broken: \(failure)") }
if share < 30 { print("broken: too few kills happened inside a commit") }
exit(summary.failures.isEmpty && share >= 30 ? 0 : 1)
