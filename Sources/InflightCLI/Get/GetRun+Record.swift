import Inflight
import InflightConcurrency
import InflightCore

/// What the run says to whoever records it. Nothing is done where nobody does.
extension GetRun {
    /// A load was handed to the engine.
    func record(begun ask: Ask) {
        guard let recorder, let task = ask.task else { return }
        ask.taskNumber = task.number
        let (number, lines) = (task.number, ask.waiters.map(\.line))
        recorder.note { book in
            for line in lines { book.claimed(number, by: line) }
        }
    }

    /// A line asks for what is under way.
    func record(_ waiter: Ask.Waiter, joined ask: Ask) {
        guard let recorder, ask.taskNumber > 0 else { return }
        let (number, line) = (ask.taskNumber, waiter.line)
        recorder.note { $0.claimed(number, by: line) }
    }

    /// What the run's own threads did.
    func record(_ work: [OwnWork], of ask: Ask) {
        guard let recorder else { return }
        let (line, subject) = (ask.waiters[0].line, ask.url.string)
        recorder.note { $0.worked(line, work, subject: subject) }
    }

    /// A line is done with.
    ///
    /// - Parameters:
    ///   - digest: `nil` where the run has ended before.
    ///   - report: `nil` where it is that of an earlier line.
    func record(_ waiter: Ask.Waiter, _ digest: Report.Digest?, from: String?, report: Report?) {
        guard let recorder else { return }
        let now = clock.now()
        let url: String
        do throws(LoadError) {
            url = try ResourceURL(waiter.text).string
        } catch {
            url = error.url ?? waiter.text
        }
        recorder.note { book in
            let (start, end) = (book.microseconds(waiter.askedAt), book.microseconds(now))
            let outcome: RunRecord.Load.Outcome =
                switch digest?.outcome {
                case .ok: .ok
                case .failed: .failed
                case .skipped: .skipped
                case nil: .cancelled
                }
            var load = RunRecord.Load(id: waiter.line, url: url, outcome: outcome, from: from, start: start, end: end)
            if let report {
                load.bytes = report.bytes
                load.status = report.status
                load.file = report.file
                if let picture = report.source ?? report.picture {
                    load.format = picture.format.rawValue
                    (load.width, load.height) = (picture.width, picture.height)
                }
                load.error = report.error.map {
                    RunRecord.Failure(code: $0.code.rawValue, stage: $0.stage.rawValue, message: $0.message)
                }
            } else if let failure = digest?.failure {
                load.error = RunRecord.Failure(
                    code: failure.code, stage: "", message: "As an earlier line of the same URL.")
                load.status = failure.status
            }
            if report == nil, digest != nil {
                load.marks.append(RunRecord.Mark(kind: .joined, at: start, why: "an earlier line's answer"))
            }
            book.concluded(load)
        }
    }

    /// Tells what happened to the loads that are done with, where that is wanted.
    func tellStories() {
        guard let recorder, narrator.tellsStories else { return }
        for story in recorder.takeStories() {
            for line in story.lines { narrator.tell(story.url, line) }
        }
    }
}
