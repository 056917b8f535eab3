internal import InflightPrograms

/// The statistics of a shard, with img2dataset's names.
///
/// Takes memory for each class of failure, not for each message.
package struct ShardStats: Equatable, Sendable {
    /// The number of rows.
    package var count: Int { successes + failedToDownload + failedToResize }
    /// The number of rows with an image.
    package private(set) var successes = 0
    /// The number of rows with ``SidecarRow/Status/failedToDownload``.
    package private(set) var failedToDownload = 0
    /// The number of rows with ``SidecarRow/Status/failedToResize``.
    package private(set) var failedToResize = 0
    /// The size of all written images, in bytes. Saturates.
    package private(set) var byteCount: Int64 = 0
    /// The number of failed rows by class.
    package private(set) var failureClasses: [String: Int] = [:]
    /// The time that the shard took, from its first row to its assembly. It differs between runs.
    package var duration = Duration.zero
    /// When the shard began, as the time since 1970; `nil` in statistics of version 0.1.0.
    package var startTime: Duration?
    /// When the shard was complete, as the time since 1970; `nil` in statistics of version 0.1.0.
    package var endTime: Duration?

    /// The members that differ between runs over the same bodies.
    static let times = ["duration", "start_time", "end_time"]

    /// Creates the statistics of a shard without rows.
    package init() {}

    /// Counts a row with an image of `bytes` bytes.
    package mutating func addSuccess(bytes: Int64) {
        successes += 1
        addBytes(bytes)
    }

    /// Counts a failed row.
    ///
    /// - Parameters:
    ///   - name: The class of the failure.
    ///   - isResize: Whether a body was received, and could not be made an output image.
    package mutating func addFailure(class name: String, isResize: Bool) {
        if isResize { failedToResize += 1 } else { failedToDownload += 1 }
        failureClasses[name, default: 0] += 1
    }

    /// Adds the rows of another shard. The durations are added too.
    package mutating func add(_ other: ShardStats) {
        successes += other.successes
        failedToDownload += other.failedToDownload
        failedToResize += other.failedToResize
        addBytes(other.byteCount)
        failureClasses.merge(other.failureClasses, uniquingKeysWith: +)
        duration += other.duration
    }

    /// The statistics as a JSON object with a line feed. Times are in seconds. `status_dict` has the successes, and
    /// the failures by class in the order of their names.
    package var json: [UInt8] {
        var statuses = failureClasses
        if successes > 0 { statuses[SidecarRow.Status.success.rawValue, default: 0] += successes }
        var writer = JSONWriter(.required)
        writer.add("count", count)
        writer.add("successes", successes)
        writer.add("failed_to_download", failedToDownload)
        writer.add("failed_to_resize", failedToResize)
        writer.add("bytes", byteCount)
        for (name, time) in zip(Self.times, [duration, startTime, endTime]) {
            if let time { writer.add(name, json: Array(Self.seconds(time).utf8)) }
        }
        writer.add("status_dict") { writer in
            for (name, value) in statuses.sorted(by: { $0.key < $1.key }) { writer.add(name, value) }
        }
        return writer.line
    }

    private mutating func addBytes(_ bytes: Int64) {
        let (sum, overflow) = byteCount.addingReportingOverflow(max(0, bytes))
        byteCount = overflow ? .max : sum
    }

    /// Returns a time in seconds with microseconds, which JSON takes as a number. A negative time is 0.
    private static func seconds(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        guard seconds >= 0, attoseconds >= 0 else { return "0.000000" }
        let fraction = String(attoseconds / 1_000_000_000_000)
        return "\(seconds)." + String(repeating: "0", count: 6 - fraction.utf8.count) + fraction
    }
}
