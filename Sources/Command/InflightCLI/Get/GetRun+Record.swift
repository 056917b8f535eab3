import Inflight
import InflightConcurrency
import InflightCore

/// Reports the run's progress to the recorder. Without a recorder, nothing is done.
extension GetRun {
    /// A load was passed to the engine.
    func record(begun item: ListItem, _ number: ImagePipeline.Event.TaskNumber) {
        guard let recorder else { return }
        item.taskNumber = number
        let lines = item.waiters.map(\.line)
        recorder.note { book in
            for line in lines { book.claimed(number, by: line) }
        }
    }

    /// A line was coalesced with a load in flight.
    func record(_ waiter: ListItem.Waiter, joined item: ListItem) {
        guard let recorder, item.taskNumber > 0 else { return }
        let (number, line) = (item.taskNumber, waiter.line)
        recorder.note { $0.claimed(number, by: line) }
    }

    /// The command itself has processed a body.
    func record(_ work: [ProcessingStep], of item: ListItem) {
        guard let recorder else { return }
        let (line, subject) = (item.waiters[0].line, item.url.string)
        recorder.note { $0.worked(line, work, subject: subject) }
    }

    /// The result that a line reports.
    enum LineResult {
        /// A new result, obtained for that line. Later requests of the same URL refer to it by its key.
        case new(Report, key: String?, line: Int)
        case repeated(key: String)
    }

    /// A line has ended.
    ///
    /// - Parameters:
    ///   - digest: The digest; `nil` if the run ended first.
    ///   - start: The start of the line's duration, which lasts until `end`, in the record and in the line of JSON.
    func record(
        _ waiter: ListItem.Waiter, _ digest: Report.Digest?, from: String?, story: @autoclosure () -> LineResult?,
        start: MonotonicTime, end: MonotonicTime
    ) {
        guard let recorder else { return }
        let outcome: RunRecord.Load.Outcome =
            switch digest?.outcome {
            case .ok: .ok
            case .failed: .failed
            case .skipped: .skipped
            case nil: .cancelled
            }
        var load = RunRecord.Load(
            id: waiter.line, url: RedactedText.withoutUser(waiter.text), outcome: outcome, from: from, start: 0, end: 0)
        var repeats: String?
        var key: String?
        switch story() {
        case .new(let report, let ownKey, let line):
            load.fill(report)
            load.pictureLine = report.picture.map { _ in line }
            key = ownKey
        case .repeated(let key): repeats = key
        case nil: load.marks.append(RunRecord.Mark(kind: .cancelled, at: 0, why: "the run was stopped"))
        }
        let duration = Int((end - start).saturatedNanoseconds / 1000)
        recorder.note { [load, repeats, key] book in
            var load = load
            load.start = book.microseconds(start)
            // Rounded as in the line of JSON, so that both report the same duration.
            load.end = load.start + duration
            for index in load.marks.indices { load.marks[index].at = load.end }
            if let repeats {
                load.marks.append(RunRecord.Mark(kind: .joined, at: load.start, why: "the response of an earlier line"))
                book.answer(of: repeats).map { load.fill($0) }
            } else if let key {
                book.remember(load, as: key)
            }
            if load.outcome == .failed {
                load.marks.append(RunRecord.Mark(kind: .failed, at: load.end, why: load.error?.code ?? ""))
            }
            book.concluded(load)
        }
    }

    /// Makes a thumbnail for the report, if possible. It runs after the load has ended, so that no load's duration
    /// includes it.
    func show(_ subject: ThumbnailSubject?, of item: ListItem) {
        guard let recorder, let subject, !isEnding else { return }
        if case .file(_, let format, let pixels) = subject {
            guard ThumbnailRenderer.quickFormats.contains(format), thumbnails.takes(decoding: pixels) else { return }
        } else {
            guard thumbnails.takes(decoding: 0) else { return }
        }
        // Its memory counts like the body of a load.
        loading += 1
        let line = item.waiters[0].line
        onWorker { [work] in
            work.thumbnail(of: subject)
        } then: { [self] bytes in
            loading -= 1
            thumbnails.made(bytes?.count)
            if let bytes { recorder.note { $0.showed(bytes, of: line) } }
            pump()
        }
    }

    /// Prints the stories of the loads that have ended, if requested.
    func printLoadTexts() {
        guard let recorder, console.describesLoads else { return }
        for story in recorder.takeStories() {
            for line in story.lines { console.tell(story.url, line) }
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
            RunRecord.Failure(code: $0.code.rawValue, stage: $0.stage.rawValue, message: $0.message)
        }
    }

    /// Copies the result of an earlier request of the same URL.
    fileprivate mutating func fill(_ other: RunRecord.Load) {
        (bytes, status, format, width, height) = (other.bytes, other.status, other.format, other.width, other.height)
        (file, error, pictureLine) = (other.file, other.error, other.pictureLine)
    }
}
