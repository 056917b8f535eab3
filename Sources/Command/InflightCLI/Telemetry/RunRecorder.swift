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
        startedAt = Timestamp.text(secondsSince1970: clock.secondsSince1970(), fractions: true)
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
}
