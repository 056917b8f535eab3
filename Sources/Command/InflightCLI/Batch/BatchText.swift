import InflightBatch

/// The texts of `inflight batch` for people, and the members of its JSON.
enum BatchText {
    /// The maximum number of classes, and of hosts for each, that are listed.
    private static let mostClasses = 20
    private static let mostHosts = 3

    // MARK: Status

    /// Returns the counts of a run, and its failures by class and host.
    static func lines(_ status: BatchStatus, style: Style) -> [String] {
        let summary = status.summary
        var remarks = summary.openRows == 0 ? [] : ["\(Quantity.count(summary.openRows, "row")) in open shards"]
        if status.handedOverShards > 0 { remarks.append("\(Quantity.grouped(status.handedOverShards)) handed over") }
        if status.absentShards > 0 { remarks.append("\(Quantity.grouped(status.absentShards)) not in this folder") }
        let rows: [(String, Int, String)] = [
            ("rows", status.rows, ""), ("images", summary.successes, ""),
            ("duplicates", summary.duplicates, "with the image of another row"),
            ("failed", summary.failures, percent(summary.failures, of: status.rows)),
            ("shards", summary.finishedShards, remarks.joined(separator: ", ")),
        ]
        let shown = rows.filter { $0.1 > 0 || $0.0 != "duplicates" }
        let widest = shown.map { Quantity.grouped($0.1).count }.max() ?? 0
        var lines = shown.map { name, count, remark in
            let number = Quantity.grouped(count)
            let padding = String(repeating: " ", count: 13 - name.count + widest - number.count)
            return "  \(name)\(padding)\(number)" + (remark.isEmpty ? "" : "   \(remark)")
        }
        if summary.failures > 0 { lines += [style.red("Failures:")] + failures(status) }
        if status.transientFailures > 0 {
            let folder = ConsoleReporter.shown(name: status.folder)
            let count = Quantity.count(status.transientFailures, "transient failure")
            lines.append("To retry \(count): inflight batch retry \(folder)")
        }
        return lines
    }

    private static func failures(_ status: BatchStatus) -> [String] {
        let classes = sorted(status.classes)
        var lines = classes.prefix(mostClasses).map { name, count in
            let hosts = status.failures.filter { $0.failureClass == name }.prefix(mostHosts)
            var parts = hosts.map { "\(shown(host: $0.host)) \(Quantity.grouped($0.count))" }
            let rest = count - hosts.reduce(0) { $0 + $1.count }
            if rest > 0, !hosts.isEmpty { parts.append("\(BatchMonitor.otherHosts) \(Quantity.grouped(rest))") }
            let transient = FailureClasses.isTransient(name) ? " (transient)" : ""
            return "  \(Quantity.grouped(count)) × \(TerminalText.safe(name))\(transient): "
                + parts.joined(separator: ", ")
        }
        let others = classes.dropFirst(mostClasses).reduce(0) { $0 + $1.value }
        if others > 0 { lines.append("  \(Quantity.grouped(others)) × other classes") }
        return lines
    }

    static func shown(host: String) -> String {
        host.isEmpty ? "invalid URLs" : TerminalText.shortened(TerminalText.safe(host), to: 60)
    }

    static func percent(_ part: Int, of whole: Int) -> String {
        guard part > 0, whole > 0 else { return "" }
        let tenths = Int((Double(part) / Double(whole) * 1000).rounded())
        return tenths == 0 ? "below 0.1 %" : "\(tenths / 10).\(tenths % 10) %"
    }

    /// Returns counts by name, the largest first.
    static func sorted(_ counts: [String: Int]) -> [(key: String, value: Int)] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    }

    static func add(_ status: BatchStatus, to writer: inout JSONWriter) {
        writer.add("folder", status.folder)
        writer.add("rows", status.rows)
        writer.add("images", status.summary.successes)
        writer.add("duplicates", status.summary.duplicates)
        writer.add("failures", status.summary.failures)
        writer.add("transientFailures", status.transientFailures)
        writer.add("finishedShards", status.summary.finishedShards)
        writer.add("openRows", status.summary.openRows)
        writer.add("handedOverShards", status.handedOverShards)
        writer.add("absentShards", status.absentShards)
        writer.add("classes") { inner in for (name, count) in sorted(status.classes) { inner.add(name, count) } }
        writer.add("transientClasses", status.classes.keys.filter(FailureClasses.isTransient).sorted())
        writer.add("hosts", status.failures) { inner, group in
            inner.add("class", group.failureClass)
            inner.add("host", group.host)
            inner.add("failures", group.count)
        }
    }

    // MARK: Progress

    /// How far a run has come.
    struct Progress {
        var monitor: BatchMonitor
        var state: BatchState
        /// The number of rows that earlier runs have ended.
        var resumedRows = 0
        var elapsed: Duration

        /// The number of rows that have ended.
        var rows: Int { resumedRows + monitor.rows }
    }

    /// The time after which a request is named in the progress line.
    static let longRequest = Duration.seconds(10)

    /// The shortest time left that is shown. Below, the last and slowest rows decide, of which the rate says nothing.
    private static let shortestTimeLeft = Duration.seconds(10)
    private static let hostColumns = 12...60

    /// Returns the progress in at most `columns`: the rows, then as much of the rest as fits. The slowest host and the
    /// most frequent failures matter most, and the host's name is shortened for the failures.
    static func line(_ progress: Progress, columns: Int) -> String {
        let monitor = progress.monitor
        let (exact, estimate) = (progress.state.rowCount, progress.state.estimatedRowCount)
        let total = (exact ?? estimate).map { max($0, progress.rows) }
        let all = total.map { exact == nil ? " of about \(Quantity.rounded($0))" : " of \(Quantity.grouped($0))" } ?? ""
        let rows = "\(Quantity.grouped(progress.rows))\(all) rows"
        let failures = sorted(monitor.failureClasses).map { "\(Quantity.grouped($1)) \(TerminalText.safe($0))" }
        let rate = monitor.successRate(at: progress.elapsed)
        let left = total.flatMap { whole -> Duration? in
            let rest = whole - progress.rows
            return rest > progress.state.running ? monitor.timeLeft(rows: rest, at: progress.elapsed) : nil
        }
        let slowest = progress.state.stragglers.first { $0.duration >= longRequest }.map { slowest in
            let time = " for \(Quantity.time(slowest.duration))"
            let others = [rows, time] + failures.prefix(1)
            let room = columns == .max ? .max : columns - others.reduce(0) { $0 + TerminalText.width($1) + 2 }
            let name = shown(host: slowest.host)
            return TerminalText.shortened(name, to: min(max(room, hostColumns.lowerBound), hostColumns.upperBound))
                + time
        }
        let time = left.flatMap { $0 >= shortestTimeLeft ? "\(Quantity.time($0)) left" : nil }
        let pace = rate < 10 ? "\((rate * 10).rounded() / 10)/s" : "\(Quantity.grouped(Int(rate)))/s"
        // With their places in the line, the most important one first.
        var ranked: [(place: Int, text: String?)] = [
            (0, rows), (5, slowest), (6, failures.first), (4, time), (1, Quantity.count(monitor.successes, "image")),
            (3, rate > 0 ? pace : nil), (2, Quantity.bytes(monitor.receivedBytes)),
        ]
        for (index, failure) in failures.dropFirst().enumerated() { ranked.append((index + 7, failure)) }
        var parts: [(place: Int, text: String)] = []
        var width = 0
        for case (let place, let text?) in ranked {
            let added = TerminalText.width(text) + (parts.isEmpty ? 0 : 2)
            guard parts.isEmpty || width <= columns - added else { continue }
            parts.append((place, text))
            width += added
        }
        let line = parts.sorted { $0.place < $1.place }.map(\.text).joined(separator: "  ")
        return TerminalText.prefix(line, columns: columns)
    }

    static func add(_ progress: Progress, to writer: inout JSONWriter) {
        let (monitor, state) = (progress.monitor, progress.state)
        writer.add("rows", progress.rows)
        writer.add("resumedRows", progress.resumedRows)
        writer.add("images", monitor.successes)
        writer.add("duplicates", monitor.duplicates)
        writer.add("failures", monitor.failures)
        writer.add("receivedBytes", monitor.receivedBytes)
        writer.add("imageBytes", monitor.imageBytes)
        writer.add("imagesPerSecond", (monitor.successRate(at: progress.elapsed) * 10).rounded() / 10)
        writer.add("running", state.running)
        writer.add("rowsRead", state.rowsRead)
        if let count = state.rowCount { writer.add("rowCount", count) }
        if let count = state.estimatedRowCount { writer.add("estimatedRowCount", count) }
        writer.add("stagedBytes", state.stagedBytes)
        writer.add("classes") { inner in
            for (name, count) in sorted(monitor.failureClasses) { inner.add(name, count) }
        }
    }
}
