import Glibc
import InflightTestSupport

/// Damages caches, each in its own process, so that a crash or a hang is reported like any other failure.
struct DamageRun {
    var count = 1000
    var seed: UInt64 = 1

    /// The time in seconds after which a check of a cache counts as hung.
    static let patience: UInt32 = 120

    private struct Tally {
        var seeds = 0
        /// The numbers of acknowledged bodies that were found, and of all acknowledged bodies.
        var found = 0
        var all = 0
    }

    /// - Returns: the violations found.
    func run() -> [String] {
        var tallies: [DamageKind: Tally] = [:]
        var failures: [String] = []
        for seed in seed..<(seed + UInt64(count)) {
            let (text, status) = Child(["damaged", String(seed)], descriptor: 1).outcome()
            let kind = DamageKind.of(seed)
            let end = status & 0x7F
            if end == SIGALRM {
                failures.append("seed \(seed), \(kind.rawValue): the check hung")
            } else if end != 0 {
                failures.append("seed \(seed), \(kind.rawValue): the check crashed with signal \(end)")
            }
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ")
                if words.count == 3, words[0] == "found", let found = Int(words[1]), let all = Int(words[2]) {
                    tallies[kind, default: Tally()].seeds += 1
                    tallies[kind, default: Tally()].found += found
                    tallies[kind, default: Tally()].all += all
                } else {
                    failures.append("seed \(seed), \(kind.rawValue): \(line)")
                }
            }
        }
        for kind in DamageKind.allCases {
            guard let tally = tallies[kind] else { continue }
            print("\(kind.rawValue): \(tally.seeds) caches, \(tally.found) of \(tally.all) bodies found")
        }
        return failures
    }
}
