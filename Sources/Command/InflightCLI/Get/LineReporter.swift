import Inflight
import InflightConcurrency
import InflightCore

/// Reports the result of each line: in the totals, as a line of `--json`, on the console and to the recording.
///
/// Confined to the run's queue.
final class LineReporter {
    var totals = RunTotals()
    let console: ConsoleReporter
    private let recording: RunRecording?
    private let output: StandardStream
    private let isJSON: Bool
    private let isOrdered: Bool
    private let sharesTerminal: Bool
    private let clock = SystemClock()
    private var lines = OrderedLines()
    private var unorderedCount = 0
    private var openBytes = 0
    /// The exit status to use because the output was lost; `nil` as long as it was not.
    private(set) var outputLoss: Int32?

    init(
        isJSON: Bool, isOrdered: Bool, console: ConsoleReporter, recording: RunRecording?,
        output: StandardStream = .output
    ) {
        self.isJSON = isJSON
        self.isOrdered = isJSON && isOrdered
        self.console = console
        self.recording = recording
        self.output = output
        sharesTerminal = output.isTerminal
    }

    /// Whether a report shows more of an item than the totals.
    var showsDetails: Bool { isJSON || recording != nil }

    /// The number of lines requested and not written yet; without JSON, not concluded yet.
    var unreported: Int { isOrdered ? lines.count : unorderedCount }

    /// The number of bytes that those lines take in memory.
    var unreportedBytes: Int { openBytes + lines.waitingBytes }

    // MARK: Lines requested

    /// Counts a line whose result will be reported.
    func opened(_ text: String) -> ListItem.Waiter {
        totals.requested += 1
        openBytes += text.utf8.count
        if !isOrdered { unorderedCount += 1 }
        return ListItem.Waiter(
            number: isOrdered ? lines.opened() : 0, text: text, requestedAt: clock.now(), line: totals.requested)
    }

    /// A line shares the load of an item in flight.
    func joined(_ waiter: ListItem.Waiter, _ item: ListItem) {
        totals.shared += 1
        console.tell(waiter.text, "duplicate of a URL in flight: shares its result")
        recording?.joined(waiter, item)
    }

    /// A line shares the result of an earlier item.
    func repeated(_ waiter: ListItem.Waiter, _ digest: Report.Digest, key: String) {
        totals.shared += 1
        console.tell(waiter.text, "duplicate of an earlier URL: reuses its result")
        close(
            waiter, digest, from: digest.hasSource ? .shared : nil, since: waiter.requestedAt,
            .repeated(digest.outcome, key: key))
        if let failure = digest.failure { totals.note(failure) }
    }

    /// A line is not a valid URL.
    func refused(_ text: String, _ error: LoadError) {
        let waiter = opened(text)
        let report = Report.failure(error)
        close(
            waiter, report.digest(withMembers: isJSON), from: nil, since: waiter.requestedAt,
            .new(report, key: nil, line: waiter.line))
        note(error, text)
    }

    // MARK: Items ended

    /// Reports an item to every line that requested its URL.
    ///
    /// - Returns: The part of the report that later lines need.
    func finished(_ item: ListItem, _ report: Report) -> Report.Digest {
        var report = report
        report.error = report.error.map { $0.about(url: item.url.string) }
        let digest = report.digest(withMembers: isJSON)
        totals.receivedBytes += report.wireBytes ?? 0
        if report.from == .disk || report.from == .revalidated { totals.fromCache += 1 }
        if report.outcome == .ok { console.tell(item.text, report.story(took: clock.now() - item.startedAt)) }
        if let error = report.error { note(error, item.text) }
        if report.isIncomplete {
            console.warn("\(ConsoleReporter.shown(item.text)) is truncated or corrupt. Its readable part was decoded.")
        }
        let result = RunRecording.LineResult.new(report, key: item.key, line: item.first.line)
        close(item.first, digest, from: report.from, since: item.startedAt, result)
        for waiter in item.others {
            close(waiter, digest, from: report.from.map { _ in .shared }, since: waiter.requestedAt, result)
            if let failure = digest.failure { totals.note(failure) }
        }
        return digest
    }

    /// The run ends before an item, which is not reported.
    func abandoned(_ item: ListItem) {
        guard let recording else { return }
        for waiter in [item.first] + item.others {
            recording.ended(waiter, .cancelled, from: nil, start: waiter.requestedAt, end: clock.now())
        }
    }

    /// Writes the remaining lines after an early end, skipping those that never ended.
    func flush() {
        if isOrdered { write(lines.remaining()) }
    }

    /// The reader of standard output has closed it.
    func outputClosed() { outputLoss = outputLoss ?? ExitStatus.closedOutput }

    private func close(
        _ waiter: ListItem.Waiter, _ digest: Report.Digest, from: LoadSource?, since start: MonotonicTime,
        _ result: RunRecording.LineResult
    ) {
        totals.count(digest.outcome)
        openBytes -= waiter.text.utf8.count
        if !isOrdered { unorderedCount -= 1 }
        guard showsDetails else { return }
        let end = clock.now()
        recording?.ended(waiter, result, from: from, start: start, end: end)
        guard isJSON else { return }
        let line = digest.line(
            url: RedactedText.withoutUser(waiter.text), from: from?.rawValue,
            milliseconds: Int((end - start).saturatedNanoseconds / 1_000_000))
        write(isOrdered ? lines.closed(waiter.number, line) : [line])
    }

    private func note(_ error: LoadError, _ text: String) {
        totals.note(Report.Digest.Failure(error))
        console.failed(text, error)
    }

    private func write(_ lines: [[UInt8]]) {
        guard outputLoss == nil, !lines.isEmpty else { return }
        if sharesTerminal { console.clear() }
        do throws(StandardStream.WriteError) {
            try output.write(Array(lines.joined()))
        } catch {
            outputLoss = ExitStatus.closedOutput
            if case .failed(let code) = error {
                outputLoss = ExitStatus.failure
                console.warn("Cannot write to standard output: \(SystemError(code: code).text).")
            }
        }
    }
}

extension Report {
    /// The result in a sentence, for `--verbose`.
    fileprivate func story(took: Duration) -> String {
        var parts: [String] = []
        if let status { parts.append("\(status)") }
        if let bytes { parts.append(Quantity.bytes(bytes)) }
        if let source { parts.append("\(source.format) \(source.width) × \(source.height)") }
        var text = "\(parts.joined(separator: ", ")) from \(from?.rawValue ?? "unknown") in \(Quantity.time(took))"
        if let finalURL { text += ", redirected to \(finalURL)" }
        if let file { text += ", stored as \(file)" }
        if let picture, picture != source, file != nil {
            text += " (\(picture.format) \(picture.width) × \(picture.height))"
        }
        return text
    }
}
