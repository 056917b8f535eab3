internal import InflightContract

/// The executor of asynchronous callers. It runs one job at a time, in an order that the simulator decides.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedTaskExecutor: TaskExecutor, @unchecked Sendable {
    private unowned let world: World
    private var jobs: [(job: UnownedJob, time: Int64)] = []
    /// The time at which the running job was enqueued.
    private(set) var enqueuedAt: Int64 = 0

    init(_ world: World) {
        self.world = world
    }

    var isReady: Bool { !jobs.isEmpty }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append((UnownedJob(job), world.clock.time))
    }

    func runOne() {
        let (job, time) = jobs.remove(at: world.draws.below(jobs.count))
        world.note(4, 0, "an async caller resumes")
        let before = world.context
        world.context = .init()
        enqueuedAt = time
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        world.context = before
    }
}
