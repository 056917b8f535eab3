internal import InflightConcurrency
internal import InflightContract

/// A callback queue whose every turn the simulator decides.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedQueue: CallbackExecutor, @unchecked Sendable {
    enum Kind: CaseIterable {
        case serial
        case concurrent
        /// Serial, and somebody may cancel all that waits on it.
        case emptied
    }

    let index: Int
    let kind: Kind
    private unowned let world: World
    private var work: [@Sendable () -> Void] = []
    private var running = 0
    var isSuspended = false

    init(_ world: World, index: Int, kind: Kind) {
        self.world = world
        self.index = index
        self.kind = kind
        work.reserveCapacity(16)
    }

    func submit(_ work: @escaping @Sendable () -> Void) {
        world.poke()
        self.work.append(work)
        world.interleave(in: 8)
    }

    var isCurrent: Bool { world.place.queue == index }

    var isReady: Bool { !work.isEmpty && !isSuspended && (kind == .concurrent || running == 0) }

    func runOne() {
        // Whoever runs first on a concurrent queue is anybody's guess.
        let next = kind == .concurrent ? world.draws.below(work.count) : 0
        var body: (@Sendable () -> Void)? = work.remove(at: next)
        world.note(2, UInt64(index), "queue \(index) (\(kind)) runs")
        let before = world.place
        world.place = .init()
        world.place.queue = index
        running += 1
        body?()
        body = nil
        running -= 1
        world.place = before
    }

    /// Lets go of all that waits.
    func drop() {
        world.note(3, UInt64(index), "queue \(index) lets go of \(work.count)")
        world.model.drops(queue: index)
        let before = world.place
        world.place.dropping = index
        var dropped = work
        work.removeAll(keepingCapacity: true)
        while !dropped.isEmpty { dropped.removeFirst() }
        world.place = before
    }
}
