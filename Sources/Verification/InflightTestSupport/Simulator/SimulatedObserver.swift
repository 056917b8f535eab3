internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// An observer of a world's pipeline, with its own queue, which runs after every step. It makes no draw.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedObserver: ImagePipeline.Observer, @unchecked Sendable {
    private let queue = Queue()
    private var model = EventModel()
    private var wasCalledElsewhere = false
    /// The latest event time. The transports here report nothing late, so times never decrease.
    private var latest = MonotonicTime.zero
    private var timeGoesBack = false

    var observer: ImagePipeline.Observation { ImagePipeline.Observation(self, on: .executor(queue)) }

    // Unchecked: as above.
    private final class Queue: CallbackExecutor, @unchecked Sendable {
        var isCurrent = false
        private var work: [@Sendable () -> Void] = []
        private var isClosed = false

        func submit(_ work: @escaping @Sendable () -> Void) {
            if !isClosed { self.work.append(work) }
        }

        func runAll() {
            isCurrent = true
            while !work.isEmpty { work.removeFirst()() }
            isCurrent = false
        }

        func close() {
            runAll()
            isClosed = true
        }
    }

    func runAll() { queue.runAll() }

    /// Runs all pending work and closes the queue, because nothing runs it afterwards. Pending work would retain the
    /// end of the pipeline, and the end would retain the queue.
    func close() { queue.close() }

    func didObserve(_ events: [ImagePipeline.Event], dropped: Int) {
        if !queue.isCurrent { wasCalledElsewhere = true }
        for event in events {
            if event.time < latest { timeGoesBack = true }
            latest = event.time
            model.observe(event)
        }
    }

    var problem: Violation? {
        if wasCalledElsewhere {
            return Violation(rule: 1, message: "the observer is called outside its queue")
        }
        if timeGoesBack { return Violation(rule: 5, message: "events: time decreases") }
        return model.problem.map { Violation(rule: 5, message: "events: \($0)") }
    }

    /// The problem found after everything has ended.
    var atEnd: Violation? {
        runAll()
        return problem ?? model.atEnd.map { Violation(rule: 3, message: "events: \($0)") }
    }
}
