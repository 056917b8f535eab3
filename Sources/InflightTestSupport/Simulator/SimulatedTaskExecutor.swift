internal import InflightContract

/// Where the simulator's asynchronous callers run: a piece at a time, in an order that the simulator decides.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedTaskExecutor: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []

    var isReady: Bool { !jobs.isEmpty }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
    }

    func runOne(_ world: World) {
        let job = jobs.remove(at: world.draws.below(jobs.count))
        world.note(4, 0, "an asynchronous caller goes on")
        let before = world.place
        world.place = .init()
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        world.place = before
    }
}
