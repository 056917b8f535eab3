import Inflight
import InflightConcurrency
import InflightCore

/// Reports the items and lines of a run to its recorder, and decides which thumbnails its report gets.
///
/// A run that is not recorded has none.
// Unchecked: mutable state is accessed only on the run's queue.
final class RunRecording: @unchecked Sendable {
    /// The result that a line reports.
    enum LineResult {
        /// A new result, obtained for that line. Later requests of the same URL refer to it by its key.
        case new(Report, key: String?, line: Int)
        /// The result of an earlier request.
        case repeated(Report.Outcome, key: String)
        /// The run ended first.
        case cancelled
    }

    private let recorder: RunRecorder
    private var thumbnails = ThumbnailBudget()

    init(_ recorder: RunRecorder) {
        self.recorder = recorder
    }

    /// An item's load was passed to the engine.
    func began(_ item: ListItem, _ number: ImagePipeline.Event.TaskNumber) {
        item.taskNumber = number
        let lines = ([item.first] + item.others).map(\.line)
        recorder.note { book in
            for line in lines { book.claimed(number, by: line) }
        }
    }

    /// A line was coalesced with a load in flight.
    func joined(_ waiter: ListItem.Waiter, _ item: ListItem) {
        guard item.taskNumber > 0 else { return }
        let (number, line) = (item.taskNumber, waiter.line)
        recorder.note { $0.claimed(number, by: line) }
    }

    /// The command itself has processed a body.
    func processed(_ item: ListItem, _ work: [ProcessingStep]) {
        let (line, subject) = (item.first.line, item.url.string)
        recorder.note { $0.worked(line, work, subject: subject) }
    }

    /// A line has ended. Its duration lasts from `start` to `end`, in the record and in the line of JSON.
    func ended(
        _ waiter: ListItem.Waiter, _ result: LineResult, from: LoadSource?, start: MonotonicTime, end: MonotonicTime
    ) {
        var load = RunRecord.Load(
            id: waiter.line, url: RedactedText.withoutUser(waiter.text), outcome: .cancelled, from: from?.rawValue,
            start: 0, end: 0)
        var repeated: String?
        var ownKey: String?
        switch result {
        case .new(let report, let key, let line):
            load.outcome = .init(report.outcome)
            load.fill(report)
            load.pictureLine = report.picture.map { _ in line }
            ownKey = key
        case .repeated(let outcome, let key):
            load.outcome = .init(outcome)
            repeated = key
        case .cancelled: load.marks.append(RunRecord.Mark(kind: .cancelled, at: 0, why: "the run was stopped"))
        }
        let duration = Int((end - start).saturatedNanoseconds / 1000)
        recorder.note { [load, repeated, ownKey] book in
            var load = load
            load.start = book.microseconds(start)
            // Rounded as in the line of JSON, so that both report the same duration.
            load.end = load.start + duration
            for index in load.marks.indices { load.marks[index].at = load.end }
            if let repeated {
                load.marks.append(RunRecord.Mark(kind: .joined, at: load.start, why: "the response of an earlier line"))
                book.answer(of: repeated).map { load.fill($0) }
            } else if let ownKey {
                book.remember(load, as: ownKey)
            }
            if load.outcome == .failed {
                load.marks.append(RunRecord.Mark(kind: .failed, at: load.end, why: load.error?.code ?? ""))
            }
            book.concluded(load)
        }
    }

    /// Returns whether a thumbnail is made, and then reserves its place in the report.
    func takesThumbnail(of subject: ThumbnailSubject) -> Bool {
        guard case .file(_, let format, let pixels) = subject else { return thumbnails.takes(decoding: 0) }
        return ThumbnailRenderer.quickFormats.contains(format) && thumbnails.takes(decoding: pixels)
    }

    /// A thumbnail was made; `nil` if it failed.
    func madeThumbnail(_ bytes: [UInt8]?, of item: ListItem) {
        thumbnails.made(bytes?.count)
        let line = item.first.line
        if let bytes { recorder.note { $0.showed(bytes, of: line) } }
    }

    /// Prints the stories of the loads that have ended, if requested.
    func printStories(_ console: ConsoleReporter) {
        guard console.describesLoads else { return }
        for story in recorder.takeStories() {
            for line in story.lines { console.tell(story.url, line) }
        }
    }
}

extension RunRecord.Load.Outcome {
    fileprivate init(_ outcome: Report.Outcome) {
        switch outcome {
        case .ok: self = .ok
        case .failed: self = .failed
        case .skipped: self = .skipped
        }
    }
}

extension RunRecord.Load {
    fileprivate mutating func fill(_ report: Report) {
        bytes = report.bytes
        status = report.status
        format = report.picture?.format.rawValue
        width = report.picture?.width
        height = report.picture?.height
        file = report.file
        error = report.error.map {
            RunRecord.Failure(code: $0.code.rawValue, stage: $0.stage.rawValue, message: $0.commandMessage)
        }
    }

    /// Copies the result of an earlier request of the same URL.
    fileprivate mutating func fill(_ other: RunRecord.Load) {
        (bytes, status, format, width, height) = (other.bytes, other.status, other.format, other.width, other.height)
        (file, error, pictureLine) = (other.file, other.error, other.pictureLine)
    }
}
