internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// Listens to the pipeline of a world, on a queue of its own whose turn comes after every step: it draws nothing.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedListener: PipelineListener, @unchecked Sendable {
    private var work: [@Sendable () -> Void] = []
    private var model = EventModel()
    private var isRunning = false
    private var wasCalledElsewhere = false
    /// The transports here tell nothing late: times never go back.
    private var latest = MonotonicTime.zero
    private var timeGoesBack = false

    var listening: PipelineListening { PipelineListening(self, on: .executor(Queue(self))) }

    /// The pipeline holds its queue: that it holds its listener too must not keep both for ever.
    private struct Queue: CallbackExecutor {
        weak let listener: SimulatedListener?

        init(_ listener: SimulatedListener) { self.listener = listener }

        func submit(_ work: @escaping @Sendable () -> Void) { listener?.submit(work) }

        var isCurrent: Bool { listener?.isRunning ?? false }
    }

    private func submit(_ work: @escaping @Sendable () -> Void) { self.work.append(work) }

    func runAll() {
        isRunning = true
        while !work.isEmpty { work.removeFirst()() }
        isRunning = false
    }

    func didHear(_ events: [PipelineEvent], leftOut: Int) {
        if !isRunning { wasCalledElsewhere = true }
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
