import Dispatch
import Foundation
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Synchronization

/// The state that all callers share: queues, the current pipeline, and the violations found.
final class World: Sendable {
    let log = ViolationLog()
    let itemServer: ItemServer
    /// Some queues of each kind, except those that a caller runs itself.
    let places: [Place]
    /// Queues whose operations are loads.
    let loadQueues: [OperationQueue]
    let opsPerGeneration: Int
    private let current: Guarded<Generation>
    private let endings = DispatchGroup()
    private let generations = Atomic<Int>(1)
    private let releases = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)

    init(_ itemServer: ItemServer, opsPerGeneration: Int) throws(LoadError) {
        self.itemServer = itemServer
        self.opsPerGeneration = opsPerGeneration
        let kinds: [Place.Kind] = [
            .main, .serial, .serial, .serial, .concurrent, .serialOperations, .concurrentOperations, .executor,
        ]
        places = kinds.map(Place.init)
        loadQueues = [3, 20].map { limit in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = limit
            return queue
        }
        current = Guarded(try Generation(itemServer, log))
    }

    var generation: Generation { current.withLock { $0 } }
    var generationCount: Int { generations.load(ordering: .relaxed) }

    /// Whether callers start no new operations, because the run is over or a rule is broken.
    var isOver: Bool { isStopped.load(ordering: .relaxed) || log.isBroken }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Counts a release of a caller, which is one operation of fifty, and sometimes replaces the pipeline.
    func didRelease() {
        if releases.add(1, ordering: .relaxed).newValue.isMultiple(of: opsPerGeneration / 50) { replaceGeneration() }
    }

    /// Replaces the pipeline with a new one. The old one is shut down while its loads are in flight, in both modes by
    /// turns.
    private func replaceGeneration() {
        guard let next = try? Generation(itemServer, log) else {
            return log.violation(10, "creating a new pipeline failed")
        }
        let old = current.withLock { current in
            defer { current = next }
            return current
        }
        let number = generations.add(1, ordering: .relaxed).newValue
        end(old, number.isMultiple(of: 2) ? .cancel : .finish)
    }

    private func end(_ generation: Generation, _ mode: ImagePipeline.ShutdownMode) {
        endings.enter()
        Task { [endings] in
            await generation.end(mode)
            endings.leave()
        }
    }

    /// Ends the last pipeline. Returns whether all pipelines have ended within `limit`.
    func endAll(within limit: Duration) -> Bool {
        end(generation, .finish)
        return endings.wait(timeout: .now() + .seconds(Int(limit.components.seconds))) == .success
    }

    private var operationQueues: [OperationQueue] { places.compactMap(\.operations) + loadQueues }

    /// Suspends, resumes or empties an operation queue, as its owner may.
    func disturbQueue(_ random: inout SeededGenerator) {
        let queues = operationQueues
        let queue = queues[random.below(queues.count)]
        switch random.below(4) {
        case 0: queue.isSuspended = true
        case 1: queue.cancelAllOperations()
        default: queue.isSuspended = false
        }
    }

    func resumeAll() {
        for queue in operationQueues { queue.isSuspended = false }
    }
}
