import Inflight
import InflightConcurrency
import InflightCore

/// Telling what came of each URL.
extension GetRun {
    /// Tells everyone who asked, and remembers it for those who will.
    func finish(_ ask: Ask, _ report: Report) {
        remove(ask)
        var report = report
        report.error = report.error.map { $0.about(url: ask.url.string) }
        let digest = report.digest
        memory["u" + ask.key] = digest.encoded
        reporter.totals.receivedBytes += report.wireBytes ?? 0
        let isStored = report.from == LoadSource.disk.rawValue || report.from == LoadSource.revalidated.rawValue
        if isStored { reporter.totals.fromCache += 1 }
        tell(ask, report)
        if let error = report.error { note(error, text: ask.text) }
        if report.isIncomplete {
            narrator.warn("\(Narrator.shown(ask.text)) is damaged: what could be decoded of it was taken.")
        }
        for (index, waiter) in ask.waiters.enumerated() {
            let from = index == 0 || report.from == nil ? report.from : LoadSource.shared.rawValue
            let since = index == 0 ? ask.startedAt : waiter.askedAt
            let story = Story.new(report, key: ask.key, line: ask.waiters[0].line)
            conclude(waiter, digest, from: from, since: since, story: story)
            if index > 0 { digest.failure.map { reporter.totals.note($0, url: "", message: "") } }
        }
    }

    /// The run ends before this one: nobody is told.
    func abandon(_ ask: Ask) {
        ask.task?.cancel()
        ask.task = nil
        for waiter in ask.waiters {
            record(waiter, nil, from: nil, story: nil, start: waiter.askedAt, end: clock.now())
        }
        remove(ask)
    }

    func remove(_ ask: Ask) {
        live[ask.key] = nil
        byID[ask.id] = nil
        guard ask.owesName else { return }
        ask.owesName = false
        decide(names.ended(ask.id, .failed(expected: work.expectedParts(ask.wanted))))
    }

    func conclude(
        _ waiter: Ask.Waiter, _ digest: Report.Digest, from: String?, since: MonotonicTime? = nil,
        story: Story
    ) {
        reporter.totals.count(digest.outcome)
        let start = since ?? waiter.askedAt
        let end = clock.now()
        let duration = end - start
        record(waiter, digest, from: from, story: story, start: start, end: end)
        reporter.closed(
            waiter.number, waiter.text, digest, from: from,
            milliseconds: Int(duration.saturatedNanoseconds / 1_000_000))
        if let status = reporter.outputLoss {
            interruption = interruption ?? "Given up"
            endEarly(status: status)
        }
    }

    func note(_ error: LoadError, text: String) {
        reporter.totals.note(Report.Digest.Failure(error), url: Narrator.shown(text), message: error.message)
        narrator.failed(text, error)
    }

    func tell(_ ask: Ask, _ report: Report) {
        guard report.outcome == .ok else { return }
        narrator.tell(ask.text, Self.story(report, took: clock.now() - ask.startedAt))
    }

    static func story(_ report: Report, took: Duration) -> String {
        var parts: [String] = []
        if let status = report.status { parts.append("\(status)") }
        if let bytes = report.bytes { parts.append(Quantity.bytes(bytes)) }
        if let source = report.source { parts.append("\(source.format) \(source.width) × \(source.height)") }
        var text = "\(parts.joined(separator: ", ")) from \(report.from ?? "nowhere") in \(Quantity.time(took))"
        if let final = report.finalURL { text += ", redirected to \(final)" }
        if let file = report.file { text += ", stored as \(file)" }
        if let picture = report.picture, picture != report.source, report.file != nil {
            text += " (\(picture.format) \(picture.width) × \(picture.height))"
        }
        return text
    }
}
