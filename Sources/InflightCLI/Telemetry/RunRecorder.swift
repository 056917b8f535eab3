import Dispatch
import Inflight
import InflightConcurrency
import InflightCore

/// Listens to the run's pipeline and to the run itself, on a queue of its own, so that neither waits for it.
// Unchecked: `book` and `onFinished` are touched on `queue` alone, or before anybody listens.
final class RunRecorder: PipelineListener, @unchecked Sendable {
    private let queue = DispatchQueue(label: "inflight.telemetry")
    private var book: RunBook
    private let clock = SystemClock()
    private let startedAt: String
    private let tellsStories: Bool
    private var onFinished: (@Sendable () -> Void)?

    init(tellsStories: Bool) {
        self.tellsStories = tellsStories
        book = RunBook(start: clock.now(), tellsStories: tellsStories)
        startedAt = Self.date(clock.secondsSince1970())
    }

    /// `body` is called when there are stories to take, on a thread of this recorder's.
    func whenFinished(_ body: @escaping @Sendable () -> Void) {
        queue.async { [self] in onFinished = body }
    }

    var listening: PipelineListening { PipelineListening(self, on: .queue(queue)) }

    func didHear(_ events: [PipelineEvent], leftOut: Int) {
        for event in events { book.hear(event) }
        book.missed(leftOut)
        tell()
    }

    /// What the command itself knows. Any thread; returns at once.
    func note(_ body: @escaping @Sendable (inout RunBook) -> Void) {
        queue.async { [self] in
            body(&book)
            tell()
        }
    }

    func microseconds(_ time: MonotonicTime) -> Int { queue.sync { book.microseconds(time) } }

    private func tell() {
        if tellsStories, book.hasFinished { onFinished?() }
    }

    /// The stories of the loads that are done with since this was last called. Waits until what was told so far is heard.
    func takeStories() -> [LoadStory] {
        hearAll()
        return queue.sync { book.takeFinished().map(LoadStory.init) }
    }

    /// Waits until what the pipeline has told so far is heard: what came while a batch was heard is the next one.
    private func hearAll() {
        for _ in 0..<2 { queue.sync {} }
    }

    /// After the pipeline's shutdown.
    func record(command: String, limits: [PipelineEvent.Lane: Int]) -> RunRecord {
        hearAll()
        return queue.sync {
            onFinished = nil
            return book.record(command: command, startedAt: startedAt, end: clock.now(), limits: limits)
        }
    }

    /// As RFC 3339 has it, in UTC (the days by the proleptic Gregorian calendar).
    static func date(_ seconds: Double) -> String {
        let seconds = Int(seconds.rounded(.down))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        // Days since 1 March of the year 0, in eras of 400 years that all are alike.
        let days = seconds / 86_400 + 719_468
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let shownMonth = month < 10 ? month + 3 : month - 9
        let year = yearOfEra + days / 146_097 * 400 + (shownMonth <= 2 ? 1 : 0)
        let time = seconds % 86_400
        return "\(year)-\(two(shownMonth))-\(two(day))T\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60))Z"
    }
}
