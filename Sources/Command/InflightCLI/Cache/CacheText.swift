import InflightCore
import InflightDisk

/// The output of `inflight cache`, as text or as lines of JSON.
struct CacheText {
    let folder: String
    let json: Bool
    let style: Style

    /// Returns the output for a folder that is not a cache yet.
    func absent(_ action: CacheCommandOptions.Action) -> [UInt8] {
        guard json else { return Self.words(["There is no cache in \(shownFolder)."]) }
        // `list` prints one line per entry: here none.
        if action == .list { return [] }
        return line(exists: false) { writer in
            switch action {
            case .stat: Self.add(nil as DiskStore.Statistics?, to: &writer)
            case .list: break
            case .verify: Self.add(nil as DiskStore.Verification?, to: &writer)
            case .clear: Self.add(removed: 0, before: nil, after: nil, to: &writer)
            }
        }
    }

    func failure(_ error: LoadError) -> [UInt8] {
        line { $0.add(error) }
    }

    // MARK: stat

    func statistics(_ found: DiskStore.Statistics) -> [UInt8] {
        if json { return line(exists: true) { Self.add(found, to: &$0) } }
        let rows: [(String, Int64)] = [
            ("entries", found.entries), ("  incomplete", found.partialEntries),
            ("  stored in files", found.entriesInFiles), ("body bytes", found.bodyBytes),
            ("bytes on disk", found.bytes), ("  index", found.indexBytes),
            ("  files", found.fileBytes), ("  write-ahead log", found.logBytes), ("  CACHEDIR.TAG", found.tagBytes),
        ]
        let numbers = rows.map { Quantity.grouped($0.1) }
        let (left, right) = (rows.map(\.0.count).max() ?? 0, numbers.map(\.count).max() ?? 0)
        return Self.words(
            [style.bold(shownFolder)]
                + zip(rows, numbers).map { row, number in
                    "  " + row.0 + String(repeating: " ", count: left - row.0.count + 2 + right - number.count) + number
                })
    }

    /// Adds the statistics, without the limit, which each run sets for itself.
    ///
    /// - Parameter found: The statistics; if `nil`, there is no cache, and all values are 0.
    private static func add(_ found: DiskStore.Statistics?, to writer: inout JSONWriter) {
        writer.add("entries", found?.entries ?? 0)
        writer.add("partialEntries", found?.partialEntries ?? 0)
        writer.add("entriesInFiles", found?.entriesInFiles ?? 0)
        writer.add("bodyBytes", found?.bodyBytes ?? 0)
        writer.add("bytes", found?.bytes ?? 0)
        writer.add("indexBytes", found?.indexBytes ?? 0)
        writer.add("fileBytes", found?.fileBytes ?? 0)
        writer.add("logBytes", found?.logBytes ?? 0)
        writer.add("pendingFiles", found?.pendingFiles ?? 0)
    }

    // MARK: list

    /// - Parameter columns: The maximum width of a line; if `nil`, the URL is not shortened.
    func entry(_ entry: DiskStore.ListedEntry, now: WallTime, columns: Int?) -> [UInt8] {
        let response = entry.response
        if json {
            var writer = JSONWriter()
            writer.add("url", response.url)
            writer.add("method", response.method)
            writer.add("status", response.head.status)
            writer.add("bytes", entry.bodyBytes)
            if let total = response.totalLength { writer.add("totalBytes", total) }
            writer.add("whole", response.isComplete)
            writer.add("inFile", entry.isInFile)
            let seconds = Double(entry.stored.milliseconds / 1000)
            writer.add("stored", Timestamp.text(secondsSince1970: seconds, fractions: false))
            return writer.line
        }
        let (age, bytes) = (Self.age(entry.stored, now: now), Quantity.grouped(entry.bodyBytes))
        let front = Self.padded(age, 9) + Self.padded(bytes, 13) + (response.isComplete ? "  " : "+ ")
        let url = TerminalText.safe(response.url)
        let room = columns.map { max(8, $0 - front.count) }
        return Self.words([front + (room.map { TerminalText.shortened(url, to: $0) } ?? url)])
    }

    /// Returns an age in a single unit, to keep the column narrow. A time in the future counts as 0 s old.
    private static func age(_ stored: WallTime, now: WallTime) -> String {
        let seconds = max(0, now.milliseconds(since: stored) / 1000)
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<7200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) days"
        }
    }

    // MARK: verify

    func verification(_ found: DiskStore.Verification) -> [UInt8] {
        if json { return line(exists: true) { Self.add(found, to: &$0) } }
        var lines = found.damage.map { damage in
            let reason = TerminalText.safe(damage.reason)
            return style.red("damaged") + " " + (damage.url.map { "\(ConsoleReporter.shown($0)): " } ?? "") + reason
        }
        lines.append(
            "\(Quantity.count(found.entries, "entry", "entries")) read, \(Quantity.grouped(found.bodyBytes)) bytes intact, "
                + (found.damage.isEmpty ? "none damaged." : "\(Quantity.grouped(found.damage.count)) damaged."))
        if !found.damage.isEmpty {
            lines += ["Damaged entries are skipped and fetched again."]
        }
        if found.leftovers > 0 {
            lines += [
                "\(Quantity.count(found.leftovers, "orphaned file")) left by a killed run (not damage).",
                "Orphaned files are removed automatically.",
            ]
        }
        return Self.words(lines)
    }

    private static func add(_ found: DiskStore.Verification?, to writer: inout JSONWriter) {
        writer.add("entries", found?.entries ?? 0)
        writer.add("bodyBytes", found?.bodyBytes ?? 0)
        writer.add("damage", found?.damage ?? []) { inner, damage in
            if let url = damage.url { inner.add("url", url) }
            inner.add("reason", damage.reason)
        }
        writer.add("leftovers", found?.leftovers ?? 0)
    }

    // MARK: clear

    func cleared(_ removed: Int, before: DiskStore.Statistics, after: DiskStore.Statistics) -> [UInt8] {
        if json {
            return line(exists: true) { Self.add(removed: removed, before: before, after: after, to: &$0) }
        }
        let left = "\(Quantity.count(Int(after.entries), "entry", "entries")) remaining"
        return Self.words([
            style.bold(shownFolder), "  \(Quantity.count(removed, "entry", "entries")) removed, \(left)",
            "  \(Quantity.grouped(before.bytes)) bytes on disk before, \(Quantity.grouped(after.bytes)) now",
        ])
    }

    private static func add(
        removed: Int, before: DiskStore.Statistics?, after: DiskStore.Statistics?, to writer: inout JSONWriter
    ) {
        writer.add("removed", removed)
        writer.add("entries", after?.entries ?? 0)
        writer.add("bytesBefore", before?.bytes ?? 0)
        writer.add("bytes", after?.bytes ?? 0)
    }

    // MARK: Lines

    private var shownFolder: String { ConsoleReporter.shown(name: folder) }

    private func line(exists: Bool? = nil, _ build: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("cache", folder)
        if let exists { writer.add("exists", exists) }
        build(&writer)
        return writer.line
    }

    private static func words(_ lines: [String]) -> [UInt8] {
        Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
