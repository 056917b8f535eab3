import Inflight

/// What a run adds up to, in memory that does not grow with it.
struct RunTotals {
    struct FailureGroup {
        var count: Int
        /// What the first one said.
        var message: String
        var examples: [String]
    }

    static let mostGroups = 40
    static let mostExamples = 3

    var asked = 0
    var ok = 0
    var failed = 0
    var skipped = 0
    /// Of those asked for, how many took the answer that another one had, or waited for.
    var shared = 0
    /// How many were answered by what was stored of earlier runs.
    var fromCache = 0
    var requests = 0
    var receivedBytes: Int64 = 0
    var storedFiles = 0
    var storedBytes: Int64 = 0
    private(set) var failures: [Report.Digest.Failure: FailureGroup] = [:]
    /// In the order in which they were seen first.
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

    /// Puts a failure to those of its kind.
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
