import Dispatch
import Inflight
import InflightConcurrency
import InflightCore

/// Observes the run's pipeline and the run itself, on a separate queue, so that neither waits for it.
// Unchecked: `book` and `onFinished` are accessed only on `queue`, or before the observer is attached.
final class RunRecorder: ImagePipeline.Observer, @unchecked Sendable {
    private let queue = DispatchQueue(label: "inflight.telemetry")
    private var book: RunRecordBuilder
    private let clock = SystemClock()
    private let startedAt: String
    private let describesLoads: Bool
    private var onFinished: (@Sendable () -> Void)?

    init(describesLoads: Bool) {
        self.describesLoads = describesLoads
        book = RunRecordBuilder(start: clock.now(), describesLoads: describesLoads)
        startedAt = Timestamp.text(secondsSince1970: clock.secondsSince1970(), fractions: true)
    }

    /// Sets a function to call when there are stories to take. It is called on a thread of this recorder.
    func whenFinished(_ body: @escaping @Sendable () -> Void) {
        queue.async { [self] in onFinished = body }
    }

    var observer: ImagePipeline.Observation { ImagePipeline.Observation(self, on: .queue(queue)) }

    func didObserve(_ events: [ImagePipeline.Event], dropped: Int) {
        for event in events { book.observe(event) }
        book.missed(dropped)
        tell()
    }

    /// Records facts that the command reports. May be called from any thread; returns at once.
    func note(_ body: @escaping @Sendable (inout RunRecordBuilder) -> Void) {
        queue.async { [self] in
            body(&book)
            tell()
        }
    }

    private func tell() {
        if describesLoads, book.hasFinished { onFinished?() }
    }

    /// Returns the stories of loads that ended since the last call. Waits until all events so far are processed.
    func takeStories() -> [LoadText] {
        hearAll()
        return queue.sync { book.takeFinished().map(LoadText.init) }
    }

    /// Waits until all events of the pipeline so far are processed: first the current batch, then the batch with the
    /// events that arrived during it.
    private func hearAll() {
        for _ in 0..<2 { queue.sync {} }
    }

    /// Returns the record. Call it after the pipeline's shutdown.
    func record(command: String, limits: [ImagePipeline.Event.Lane: Int]) -> RunRecord {
        hearAll()
        return queue.sync {
            onFinished = nil
            return book.record(command: command, startedAt: startedAt, end: clock.now(), limits: limits)
        }
    }
}
