internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// Listens to the pipeline of a world, on a queue of its own whose turn comes after every step: it draws nothing.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedListener: PipelineListener, @unchecked Sendable {
    private let queue = Queue()
    private var model = EventModel()
    private var wasCalledElsewhere = false
    /// The transports here tell nothing late: times never go back.
    private var latest = MonotonicTime.zero
    private var timeGoesBack = false

    var listening: PipelineListening { PipelineListening(self, on: .executor(queue)) }

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

    /// Nobody will run anything any more. What waits on the queue holds the pipeline's end of it, and that the queue.
    func close() { queue.close() }

    func didHear(_ events: [PipelineEvent], leftOut: Int) {
        if !queue.isCurrent { wasCalledElsewhere = true }
        for event in events {
            if event.time < latest { timeGoesBack = true }
            latest = event.time
            model.hear(event)
        }
    }

    var problem: Violation? {
        if wasCalledElsewhere {
            return Violation(rule: 1, message: "the listener is called outside of its queue")
        }
        if timeGoesBack { return Violation(rule: 5, message: "events: time goes back") }
        return model.problem.map { Violation(rule: 5, message: "events: \($0)") }
    }

    /// What is wrong when all has ended.
    var atEnd: Violation? {
        runAll()
        return problem ?? model.atEnd.map { Violation(rule: 3, message: "events: \($0)") }
    }
}
