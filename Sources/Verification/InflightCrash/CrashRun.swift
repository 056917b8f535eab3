import Glibc
import InflightCore
import InflightDisk
import InflightTestSupport

/// Kills victims and checks the caches that they leave.
struct CrashRun {
    var kills = 2000
    /// The duration in seconds; if set, it replaces the number of kills.
    var seconds: Int?
    /// The number of processes that write into the folder at once.
    var processes = 1
    var limit: Int64 = 24 << 20
    var seed: UInt64 = 1

    struct Summary {
        var kills = 0
        var inCommit = 0
        var acknowledgements = 0
        var evictions = 0
        var longestOpen = Duration.zero
        var failures: [String] = []
    }

    func run() async -> Summary {
        let scratch = Scratch.make()
        defer { Scratch.remove(scratch) }
        let folder = scratch + "/cache"
        var random = SeededGenerator(seed: seed)
        var ledger = Ledger()
        var summary = Summary()
        var victims: [RunningVictim] = []
        var started = 0
        var isDone = false

        func startVictim() -> RunningVictim {
            started += 1
            return RunningVictim(
                folder: folder, scratch: scratch, name: started % (processes + 1),
                seed: seed &* 100_000 &+ UInt64(started),
                limit: limit, waitsForDisk: started % 8 == 0)
        }

        let start = ContinuousClock.now
        func isLast() -> Bool {
            seconds.map { ContinuousClock.now - start > .seconds($0) } ?? (summary.kills == kills)
        }

        while !isDone, summary.failures.isEmpty {
            while victims.count < processes { victims.append(startVictim()) }
            let victim = victims.remove(at: Self.next(of: victims, &random))
            let (inCommit, lines) = victim.kill()
            ledger.note(lines, seed: victim.seed)
            for other in victims { ledger.note(other.lines(), seed: other.seed) }
            summary.kills += 1
            if inCommit { summary.inCommit += 1 }
            // Check a single victim's entries after each kill, several victims' only at the end.
            isDone = isLast()
            if processes == 1 || isDone {
                for other in victims { ledger.note(other.kill().lines, seed: other.seed) }
                victims = []
                // A complete check is slow, so it runs after every 16th kill and at the end.
                let isThorough = summary.kills % 16 == 0 || isDone
                await look(folder, isThorough ? nil : victim.seed, &ledger, &summary)
            }
        }
        summary.acknowledgements = ledger.acknowledgements
        summary.evictions = ledger.evictions
        return summary
    }

    /// Lets the victims work for a while, and returns the one to kill. Most kills wait for a victim that is in a
    /// commit. That victim is stopped first, because it keeps running while it is examined.
    private static func next(of victims: [RunningVictim], _ random: inout SeededGenerator) -> Int {
        usleep(UInt32(2000 + random.below(40_000)))
        guard random.below(10) < 8 else { return random.below(victims.count) }
        let deadline = ContinuousClock.now + .milliseconds(500)
        while ContinuousClock.now < deadline {
            if let committing = victims.firstIndex(where: \.isInCommit) {
                victims[committing].stop()
                if victims[committing].isInCommit { return committing }
                victims[committing].proceed()
            }
            sched_yield()
        }
        return random.below(victims.count)
    }

    /// Opens the cache as the next process does, and compares it with the ledger.
    private func look(_ folder: String, _ seed: UInt64?, _ ledger: inout Ledger, _ summary: inout Summary) async {
        let store = DiskStore(.init(folder: folder, limit: limit))
        let start = ContinuousClock.now
        _ = await store.find(StoreKey("nothing"))
        summary.longestOpen = max(summary.longestOpen, ContinuousClock.now - start)
        await ledger.compare(store, seed: seed)
        summary.failures += ledger.failures
        do {
            let statistics = try await store.statistics()
            if statistics.pendingFiles > 0 { summary.failures.append("\(statistics.pendingFiles) files stay pending") }
            let bytes = Scratch.bytes(folder)
            if bytes > limit { summary.failures.append("\(bytes) bytes exceed the limit") }
            if statistics.bytes != bytes {
                summary.failures.append("\(bytes) bytes are on disk, the index counts \(statistics.bytes)")
            }
            if seed != nil { return await store.shutdown() }
            let found = try await store.verify()
            for damage in found.damage { summary.failures.append("\(damage.url ?? "index"): \(damage.reason)") }
            if found.leftovers > 0 { summary.failures.append("\(found.leftovers) files belong to no entry") }
            if Int64(found.entries) != statistics.entries {
                summary.failures.append("\(found.entries) entries are stored, the index counts \(statistics.entries)")
            }
            if found.bodyBytes != statistics.bodyBytes {
                summary.failures.append("\(found.bodyBytes) bytes of bodies, the index counts \(statistics.bodyBytes)")
            }
        } catch {
            summary.failures.append("\(error)")
        }
        await store.shutdown()
    }

}
