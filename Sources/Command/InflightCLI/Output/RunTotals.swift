import Inflight

/// The totals of a run, in memory that does not grow with it.
struct RunTotals {
    static let mostGroups = 40

    var requested = 0
    var ok = 0
    var failed = 0
    var skipped = 0
    /// The number of requested URLs that shared the response of another one, finished or in flight.
    var shared = 0
    /// The number of responses that came from the disk cache, stored by earlier runs.
    var fromCache = 0
    var requests = 0
    var receivedBytes: Int64 = 0
    var storedFiles = 0
    var storedBytes: Int64 = 0
    /// The number of failures of each kind, for at most ``mostGroups`` kinds.
    private(set) var failures: [Report.Digest.Failure: Int] = [:]
    private(set) var ungroupedFailures = 0

    var done: Int { ok + failed + skipped }

    mutating func count(_ outcome: Report.Outcome) {
        switch outcome {
        case .ok: ok += 1
        case .failed: failed += 1
        case .skipped: skipped += 1
        }
    }

    /// Counts a failure of its kind.
    mutating func note(_ failure: Report.Digest.Failure) {
        if failures[failure] != nil || failures.count < Self.mostGroups {
            failures[failure, default: 0] += 1
        } else {
            ungroupedFailures += 1
        }
    }
}
