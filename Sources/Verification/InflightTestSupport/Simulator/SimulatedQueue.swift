internal import InflightConcurrency
internal import InflightContract

/// A callback queue whose turns the simulator decides.
// Unchecked: everything in a simulation happens on one thread.
final class SimulatedQueue: CallbackExecutor, @unchecked Sendable {
    enum Kind: CaseIterable {
        case serial
        case concurrent
        /// Serial, and all its pending work may be cancelled.
        case emptied
    }

    let index: Int
    let kind: Kind
    private unowned let world: World
    private var work: [Work] = []
    private var running = 0
    var isSuspended = false

    private struct Work {
        var body: @Sendable () -> Void
        /// Whether the work ends a turn of the prefetcher.
        var endsTurn: Bool
    }

    init(_ world: World, index: Int, kind: Kind) {
        self.world = world
        self.index = index
        self.kind = kind
        work.reserveCapacity(16)
    }

    func submit(_ work: @escaping @Sendable () -> Void) {
        world.poke()
        self.work.append(Work(body: work, endsTurn: world.context.isInTurn))
        world.interleave(in: 8)
    }

    var isCurrent: Bool { world.context.queue == index }

    var isReady: Bool { !work.isEmpty && !isSuspended && (kind == .concurrent || running == 0) }

    func runOne() {
        // On a concurrent queue any work may run first.
        let next = kind == .concurrent ? world.draws.below(work.count) : 0
        let endsTurn = work[next].endsTurn
        var body: (@Sendable () -> Void)? = work.remove(at: next).body
        world.note(2, UInt64(index), "queue \(index) (\(kind)) runs a callback")
        let before = world.context
        world.context = .init()
        world.context.queue = index
        running += 1
        announce(endsTurn)
        body?()
        body = nil
        running -= 1
        world.context = before
    }

    /// Drops all pending work.
    func drop() {
        world.note(3, UInt64(index), "queue \(index) drops \(work.count) callbacks")
        world.model.drops(queue: index)
        let before = world.context
        world.context.dropping = index
        var dropped = work
        work.removeAll(keepingCapacity: true)
        while !dropped.isEmpty {
            // If a queue drops the end of a turn, the turn ends as well.
            announce(dropped[0].endsTurn)
            dropped.removeFirst()
            world.context.isAtomic = false
        }
        world.context = before
    }

    private func announce(_ endsTurn: Bool) {
        if endsTurn {
            world.context.isAtomic = true
            world.model.turnEnds()
        } else if index == World.prefetchQueue {
            world.context.isAtomic = true
            world.model.endingIsDelivered()
        }
    }
}
