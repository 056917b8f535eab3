import Inflight

/// The summary of a run, worded for first-time readers.
struct Summary {
    var totals: RunTotals
    var elapsed: Duration
    /// The output directory; if `nil`, nothing is stored.
    var directory: String?
    /// Whether bytes were accepted without inspection.
    var isOfAnything = false
    /// Whether existing files were compared with their servers' responses.
    var isUpdate = false
    /// The reason why the run ended early.
    var interruption: String?

    /// Returns lines of at most `columns`, except for URLs, which stay whole so that they can be copied.
    func lines(columns: Int, style: Style) -> [String] {
        let columns = max(30, columns)
        var lines = TerminalText.wrapped(headline, columns: columns).map { style.bold($0) }
        lines += table(columns: columns)
        lines += failures(columns: columns).map { style.red($0) }
        return lines
    }

    /// The summary in one line, for a log.
    var line: String {
        let counts = rows.dropFirst().map { "\($0.name) \($0.value)" }.joined(separator: ", ")
        return "\(headline.dropLast()) (\(counts))."
    }

    private var noun: String { isOfAnything ? "file" : "image" }

    private var headline: String {
        let time = Quantity.time(elapsed)
        if let interruption {
            return "\(interruption) after \(time): \(Quantity.count(totals.done, noun)) done. Finished files are kept."
        }
        let verb = directory == nil ? "checked" : "stored"
        if totals.failed == 0 {
            return totals.requested == 0
                ? "No URLs given." : "Done: \(Quantity.count(totals.requested, noun)) in \(time)."
        }
        return "\(Quantity.grouped(totals.ok)) of \(Quantity.count(totals.requested, noun)) \(verb), "
            + "\(Quantity.grouped(totals.failed)) failed, in \(time)."
    }

    private var rows: [(name: String, value: String, remark: String)] {
        var rows: [(name: String, value: String, remark: String)] = []
        func add(_ name: String, _ value: String, _ remark: String = "") { rows.append((name, value, remark)) }
        let different = Quantity.grouped(totals.requested - totals.shared)
        add("requested", Quantity.grouped(totals.requested), totals.shared > 0 ? "\(different) unique" : "")
        add("requests sent", Quantity.grouped(totals.requests))
        if totals.shared > 0 {
            add("coalesced", Quantity.grouped(totals.shared), "served by another request")
        }
        if totals.fromCache > 0 {
            add("from the cache", Quantity.grouped(totals.fromCache), "stored by an earlier run")
        }
        if totals.skipped > 0 {
            add("skipped", Quantity.grouped(totals.skipped), isUpdate ? "unchanged" : "already exists")
        }
        let seconds = elapsed / Duration.seconds(1)
        let rate =
            totals.receivedBytes > 0 && seconds > 0.05
            ? "\(Quantity.bytes(Int64(Double(totals.receivedBytes) / seconds)))/s" : ""
        add("received", Quantity.bytes(totals.receivedBytes), rate)
        if let directory {
            let files = Quantity.count(totals.storedFiles, "file")
            add("stored", Quantity.bytes(totals.storedBytes), "\(files) in \(TerminalText.safe(directory))")
        }
        return rows
    }

    private func table(columns: Int) -> [String] {
        let rows = rows
        let widest = rows.map { TerminalText.width($0.value) }.max() ?? 0
        return rows.map { name, value, remark in
            let padded = String(repeating: " ", count: widest - TerminalText.width(value)) + value
            let line = "  " + name + String(repeating: " ", count: 15 - name.count) + padded
            guard !remark.isEmpty, TerminalText.width(line) + 3 + 8 <= columns else { return line }
            return line + "   " + TerminalText.shortened(remark, to: columns - TerminalText.width(line) - 3)
        }
    }

    /// The failures by class, the most frequent first. Each was reported with its URL and message when it happened.
    private func failures(columns: Int) -> [String] {
        var groups = totals.failures.sorted { ($1.value, $0.key.description) < ($0.value, $1.key.description) }
            .map { "\(Quantity.grouped($0.value)) × \(TerminalText.safe($0.key.description))" }
        guard !groups.isEmpty else { return [] }
        if totals.ungroupedFailures > 0 {
            groups.append("\(Quantity.grouped(totals.ungroupedFailures)) × other errors")
        }
        let lines = TerminalText.wrapped("Failures: \(groups.joined(separator: ", "))", columns: columns - 2)
        return lines.enumerated().map { ($0.offset == 0 ? "" : "  ") + $0.element }
    }
}
