import InflightBatch

/// What the journal of a run says about its rows.
struct BatchStatus: Equatable, Sendable {
    /// The folder of the run, as the user named it.
    var folder: String
    var summary = JournalSummary()
    /// The number of failures of each class.
    var classes: [String: Int] = [:]
    /// The most frequent failures by class and host.
    var failures: [FailureCount] = []
    /// The number of shards whose files were handed over, and of finished ones that are not in the folder.
    var handedOverShards = 0
    var absentShards = 0

    init(folder: String) { self.folder = folder }

    /// Reads the journal in a folder, also while the run writes to it.
    init(reading folder: String) throws(BatchFailure) {
        let journal = try Journal(reading: folder)
        self.folder = folder
        summary = try journal.summary()
        classes = try journal.failuresByClass()
        failures = try journal.failures()
        handedOverShards = journal.handedOverShards.count
        absentShards = try journal.absentShards().count
    }

    /// The number of rows that have ended.
    var rows: Int { summary.successes + summary.duplicates + summary.failures }

    /// The number of failures that a retry may resolve.
    var transientFailures: Int {
        classes.reduce(0) { FailureClasses.isTransient($1.key) ? $0 + $1.value : $0 }
    }

    /// Returns the exit status of a run that has ended every row. A retry may also lower the share of failures, so
    /// transient failures come first.
    func exitStatus(maximumFailureRate: Double, isStrict: Bool) -> Int32 {
        if isStrict, transientFailures > 0 { return ExitStatus.temporaryFailure }
        let isAbove = Double(summary.failures) > maximumFailureRate * Double(rows)
        return isAbove ? ExitStatus.failure : ExitStatus.success
    }
}

extension BatchFailure {
    /// The exit status, by the meanings of sysexits.h.
    var exitStatus: Int32 {
        switch self {
        case .input(let failure):
            switch failure.error {
            case .cannotOpen, .cannotRead, .folder, .noMatch, .outOfMemory: ExitStatus.noInput
            case .unknownFormat, .parquet: ExitStatus.wrongUse
            default: ExitStatus.malformedInput
            }
        case .changedInput: ExitStatus.malformedInput
        case .journal(.changedOptions): ExitStatus.wrongUse
        case .absent: ExitStatus.noInput
        case .journal, .output, .rejects, .handOver: ExitStatus.cannotWrite
        case .inconsistent: ExitStatus.failure
        }
    }

    /// The failure for people, with a remedy.
    var text: String {
        guard case .output(let error) = self, error.isFull else { return description }
        return "\(description) Free disk space, then run the same command again."
    }
}
