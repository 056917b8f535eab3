import Dispatch
import InflightConcurrency

/// The serial queue of a run, and its worker threads for slow work.
///
/// After each event, it calls the run, which takes more lines or ends.
// Unchecked: mutable state is accessed only on `queue`, or before the run starts.
final class RunQueue: @unchecked Sendable {
    let queue = DispatchQueue(label: "inflight.get")
    var machine: RunMachine
    /// Called on the queue after each event.
    var eventHandled: () -> Void = {}
    private let workers: WorkerThreads

    /// - Parameter threads: The number of worker threads.
    init(_ machine: RunMachine, threads: Int) {
        self.machine = machine
        workers = WorkerThreads(count: threads, name: "inflight-files")
    }

    /// Handles an event on the queue. May be called from any thread.
    func async(_ event: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            event()
            eventHandled()
        }
    }

    /// Runs blocking or computing work on a worker thread, and passes its result to `then` on the queue.
    func onWorker<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value, then: @escaping @Sendable (Value) -> Void
    ) {
        machine.jobBegan()
        workers.run { [self] in
            let value = body()
            async { [self] in
                machine.jobEnded()
                then(value)
            }
        }
    }
}
