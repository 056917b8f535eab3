/// The robots.txt of all authorities, and the rows that wait for one to be fetched.
///
/// Fetches each file once, however many rows wait for it. Remembers at most ``recordLimit`` files, those used last, so
/// that memory does not grow with the number of hosts. A value without a clock, as ``RobotsRecord``.
package struct RobotsTable: Sendable {
    /// What a row has to do.
    package enum Step: Hashable, Sendable {
        /// Fetch its image.
        case proceed
        /// End: a rule disallows its URL.
        case disallowed
        /// End: the file is unreachable, which disallows its URL.
        case unreachable
        /// Fetch the authority's robots.txt, and then call ``RobotsTable/fetchDidFinish(_:authority:at:)``.
        case fetch
        /// Wait for the fetch of another row.
        case wait
    }

    private struct Entry {
        var record: RobotsRecord
        /// The rows that wait for the fetch, the one that fetches first.
        var waiting: [(row: Int, path: String)] = []
        /// The number of the last use among all uses.
        var lastUse: UInt64 = 0
    }

    /// The maximum number of files that are remembered. Files that rows wait for come on top.
    package static let recordLimit = 4_096

    private let configuration: RobotsRecord.Configuration
    private var entries: [String: Entry] = [:]
    private var uses: UInt64 = 0

    /// Creates a table without files.
    package init(_ configuration: RobotsRecord.Configuration) {
        self.configuration = configuration
    }

    /// The number of authorities whose files are remembered.
    package var count: Int { entries.count }

    /// Returns an authority's `Crawl-delay`, if its file is remembered.
    package func crawlDelay(authority: String) -> Duration? { entries[authority]?.record.crawlDelay }

    /// Returns why an authority's file is unreachable, if it is.
    package func obstacle(authority: String) -> RobotsRecord.Obstacle? { entries[authority]?.record.obstacle }

    /// Returns what a row has to do whose turn it is.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - authority: Scheme, host and port of its URL.
    ///   - path: Path and query of its URL.
    ///   - now: The current time.
    package mutating func step(row: Int, authority: String, path: String, at now: Duration) -> Step {
        if entries[authority] == nil { forgetOldest() }
        uses += 1
        var entry = entries[authority] ?? Entry(record: RobotsRecord(configuration))
        entry.lastUse = uses
        defer { entries[authority] = entry }
        guard entry.waiting.isEmpty else {
            entry.waiting.append((row, path))
            return .wait
        }
        let step = Self.step(entry.record.decision(for: path, at: now))
        if step == .fetch { entry.waiting = [(row, path)] }
        return step
    }

    /// Records the end of the fetch that ``step(row:authority:path:at:)`` requested.
    ///
    /// - Returns: What each row that waited has to do, in the order in which they came. Never ``Step/fetch`` or
    ///   ``Step/wait``.
    package mutating func fetchDidFinish(
        _ outcome: RobotsRecord.Outcome, authority: String, at now: Duration
    ) -> [(row: Int, step: Step)] {
        guard var entry = entries[authority] else { return [] }
        entry.record.fetchDidFinish(outcome, at: now)
        let waiting = entry.waiting
        entry.waiting = []
        entries[authority] = entry
        return waiting.map { row, path in
            let step = Self.step(entry.record.decision(for: path, at: now))
            // A file whose lifetime is over at once is used for the rows that waited for it.
            return (row, step == .fetch ? .proceed : step)
        }
    }

    private static func step(_ decision: RobotsRecord.Decision) -> Step {
        switch decision {
        case .allowed: .proceed
        case .disallowed: .disallowed
        case .unreachable: .unreachable
        case .needsFetch: .fetch
        }
    }

    /// Makes room for one more file. Forgets many at once, so that the search for the oldest is rare.
    private mutating func forgetOldest() {
        guard entries.count >= Self.recordLimit else { return }
        let unused = entries.filter { $0.value.waiting.isEmpty }.sorted { $0.value.lastUse < $1.value.lastUse }
        for (authority, _) in unused.prefix(Self.recordLimit / 8) { entries[authority] = nil }
    }
}
