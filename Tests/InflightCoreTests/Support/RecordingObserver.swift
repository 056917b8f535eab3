import InflightConcurrency
import InflightCore
import InflightTestSupport

/// The observers of one test. Their queues retain the last events after the pipeline is gone, so `deinit` runs the
/// queued callbacks.
final class RecordingObservers: Sendable {
    private let listeners = Guarded([RecordingObserver]())

    func observer(onEvents: @escaping @Sendable () -> Void = {}) -> RecordingObserver {
        let observer = RecordingObserver(onEvents: onEvents)
        listeners.withLock { $0.append(observer) }
        return observer
    }

    deinit {
        for observer in listeners.withLock({ $0 }) {
            while observer.queue.count > 0 { observer.queue.runAll() }
        }
    }
}

/// An observer on a queue that the test runs by hand. It records the events it receives.
final class RecordingObserver: ImagePipeline.Observer {
    let queue = ManualQueue()
    private let heard = Guarded([ImagePipeline.Event]())
    private let batches = Guarded([Int]())
    private let lost = Guarded(0)
    private let onEvents: @Sendable () -> Void

    init(onEvents: @escaping @Sendable () -> Void = {}) {
        self.onEvents = onEvents
    }

    func didObserve(_ events: [ImagePipeline.Event], dropped: Int) {
        heard.withLock { $0 += events }
        batches.withLock { $0.append(events.count) }
        lost.withLock { $0 += dropped }
        onEvents()
    }

    var dropped: Int { lost.withLock { $0 } }
    var batchCount: Int { batches.withLock { $0.count } }

    /// All events delivered so far.
    var events: [ImagePipeline.Event] {
        queue.runAll()
        return heard.withLock { $0 }
    }

    /// The events in short form: `1 requested`, `#0 queued fetch`; jobs are numbered in order of appearance.
    var lines: [String] {
        var jobs: [ImagePipeline.Event.JobNumber] = []
        return events.map { event in
            var words: [String] = []
            if let task = event.task { words.append("\(task)") }
            if let job = event.job {
                if !jobs.contains(job) { jobs.append(job) }
                words.append("#\(jobs.firstIndex(of: job) ?? -1)")
            }
            return (words + [Self.word(event.kind)]).joined(separator: " ")
        }
    }

    private static func word(_ kind: ImagePipeline.Event.Kind) -> String {
        switch kind {
        case .requested: "requested"
        case .rerouted: "rerouted"
        case .finished(.success(let source)): "finished \(source)"
        case .finished(.failure(let code)): "finished \(code.rawValue)"
        case .created(let kind, _, let after): "created \(kind.rawValue)\(after == nil ? "" : " after another")"
        case .queued(let lane): "queued \(lane.rawValue)"
        case .started(let lane): "started \(lane.rawValue)"
        case .prioritized(let priority): "prioritized \(priority)"
        case .retryScheduled(let after, _): "retry after \(after)"
        case .failed(let code, _): "failed \(code.rawValue)"
        case .lookedUp(let found): "looked up \(found.rawValue)"
        case .readFromStore(let bytes): "read \(bytes)"
        case .sent(let method, _, let start): "sent \(method)\(start > 0 ? " from \(start)" : "")"
        case .responded(let status): "responded \(status)"
        case .received(let bytes): "received \(bytes)"
        case .exchangeEnded(let bytes): "exchange ended\(bytes.map { " \($0)" } ?? "")"
        case .redirected: "redirected"
        case .resumed(let start): "resumed at \(start)"
        case .resent: "resent"
        case .storing(let bytes): "storing \(bytes)"
        case .stored(let bytes): "stored \(bytes)"
        default: "\(kind)"
        }
    }
}
