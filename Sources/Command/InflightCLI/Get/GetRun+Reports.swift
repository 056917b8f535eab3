import Inflight
import InflightConcurrency
import InflightCore

/// Reports the result of each URL.
extension GetRun {
    /// Reports to every line that requested the URL, and remembers the result for later ones.
    func finish(_ item: ListItem, _ report: Report) {
        remove(item)
        var report = report
        report.error = report.error.map { $0.about(url: item.url.string) }
        let digest = report.digest(withMembers: reporter.isJSON)
        memory[item.key] = digest.encoded
        reporter.totals.receivedBytes += report.wireBytes ?? 0
        let isStored = report.from == LoadSource.disk.rawValue || report.from == LoadSource.revalidated.rawValue
        if isStored { reporter.totals.fromCache += 1 }
        tell(item, report)
        if let error = report.error { note(error, text: item.text) }
        if report.isIncomplete {
            console.warn("\(ConsoleReporter.shown(item.text)) is truncated or corrupt. Its readable part was decoded.")
        }
        for (index, waiter) in item.waiters.enumerated() {
            let from = index == 0 || report.from == nil ? report.from : LoadSource.shared.rawValue
            let since = index == 0 ? item.startedAt : waiter.requestedAt
            conclude(
                waiter, digest, from: from, since: since,
                story: .new(report, key: item.key, line: item.waiters[0].line))
            if index > 0 { digest.failure.map { reporter.totals.note($0, url: "", message: "") } }
        }
    }

    /// Drops an item without reporting it, because the run ends first.
    func forget(_ item: ListItem, _ load: ImageTask? = nil) {
        load?.cancel()
        for waiter in item.waiters {
            record(waiter, nil, from: nil, story: nil, start: waiter.requestedAt, end: clock.now())
        }
        remove(item)
    }

    private func remove(_ item: ListItem) {
        live[item.key] = nil
        // Without a file of its own, the item only reserves its expected name.
        guard names.awaits(item.id, stem: stem(of: item)) else { return }
        decide(names.ended(item.id, stem: stem(of: item), .failed(expected: work.expectedParts(item.suggested))))
    }

    func conclude(
        _ waiter: ListItem.Waiter, _ digest: Report.Digest, from: String?, since: MonotonicTime? = nil,
        story: @autoclosure () -> LineResult
    ) {
        reporter.totals.count(digest.outcome)
        let start = since ?? waiter.requestedAt
        let end = clock.now()
        record(waiter, digest, from: from, story: story(), start: start, end: end)
        reporter.closed(waiter.number, waiter.text, digest, from: from, took: end - start)
        if let status = reporter.outputLoss {
            interruption = interruption ?? "Stopped"
            endEarly(status: status)
        }
    }

    func note(_ error: LoadError, text: String) {
        reporter.totals.note(Report.Digest.Failure(error), url: ConsoleReporter.shown(text), message: error.message)
        console.failed(text, error)
    }

    func tell(_ item: ListItem, _ report: Report) {
        guard report.outcome == .ok else { return }
        console.tell(item.text, Self.story(report, took: clock.now() - item.startedAt))
    }

    static func story(_ report: Report, took: Duration) -> String {
        var parts: [String] = []
        if let status = report.status { parts.append("\(status)") }
        if let bytes = report.bytes { parts.append(Quantity.bytes(bytes)) }
        if let source = report.source { parts.append("\(source.format) \(source.width) × \(source.height)") }
        var text = "\(parts.joined(separator: ", ")) from \(report.from ?? "unknown") in \(Quantity.time(took))"
        if let final = report.finalURL { text += ", redirected to \(final)" }
        if let file = report.file { text += ", stored as \(file)" }
        if let picture = report.picture, picture != report.source, report.file != nil {
            text += " (\(picture.format) \(picture.width) × \(picture.height))"
        }
        return text
    }
}
