import Inflight

/// The totals of a run, in memory that does not grow with it.
struct RunTotals {
    struct FailureGroup {
        var count: Int
        /// The message of the first one.
        var message: String
        var examples: [String]
    }

    static let mostGroups = 40
    static let mostExamples = 3

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
    private(set) var failures: [Report.Digest.Failure: FailureGroup] = [:]
    /// The failures in the order of their first occurrence.
    private(set) var failureOrder: [Report.Digest.Failure] = []
    private(set) var ungroupedFailures = 0

    var done: Int { ok + failed + skipped }

    mutating func count(_ outcome: Report.Outcome) {
        switch outcome {
        case .ok: ok += 1
        case .failed: failed += 1
        case .skipped: skipped += 1
        }
    }

    /// Adds a failure to its group.
    mutating func note(_ failure: Report.Digest.Failure, url: String, message: @autoclosure () -> String) {
        if var group = failures[failure] {
            group.count += 1
            if group.examples.count < Self.mostExamples, !group.examples.contains(url) { group.examples.append(url) }
            failures[failure] = group
        } else if failures.count < Self.mostGroups {
            failures[failure] = FailureGroup(count: 1, message: message(), examples: [url])
            failureOrder.append(failure)
        } else {
            ungroupedFailures += 1
        }
    }
}
