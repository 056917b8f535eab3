/// The state machine of a ``StartPolicy``: which starts begin, wait or are stopped.
@usableFromInline
package struct StartMachine: Sendable {
    @usableFromInline package typealias ID = Int

    @usableFromInline
    package enum Action: Hashable, Sendable {
        /// The work is to begin.
        case begin(ID)
        /// The work is running and is to stop. It keeps its place until ``workEnded(_:)``.
        case stop(ID)
        /// The start was refused, and its caller is to be notified.
        case refuse(ID)
        case replace(ID)
    }

    private let policy: StartPolicy
    /// The starts whose work has begun and not actually ended, in their order.
    @usableFromInline package internal(set) var running: [ID] = []
    package private(set) var waiting: [ID] = []

    @usableFromInline
    package init(_ policy: StartPolicy) {
        self.policy = policy
    }

    @usableFromInline
    package mutating func started(_ id: ID) -> [Action] {
        if running.isEmpty || policy == .both {
            running.append(id)
            return [.begin(id)]
        }
        switch policy {
        case .firstWins: return [.refuse(id)]
        case .queued, .both:
            waiting.append(id)
            return []
        case .lastWins:
            let replaced = waiting
            waiting = [id]
            return running.flatMap { [Action.replace($0), .stop($0)] } + replaced.map { .replace($0) }
        }
    }

    /// The work has actually ended, cancelled or not.
    @usableFromInline
    package mutating func workEnded(_ id: ID) -> [Action] {
        guard let index = running.firstIndex(of: id) else { return [] }
        running.remove(at: index)
        guard running.isEmpty, !waiting.isEmpty else { return [] }
        let next = waiting.removeFirst()
        running.append(next)
        return [.begin(next)]
    }

    /// One start was cancelled: it leaves the queue, or its work is to stop.
    @usableFromInline
    package mutating func cancelled(_ id: ID) -> [Action] {
        if let index = waiting.firstIndex(of: id) {
            waiting.remove(at: index)
            return []
        }
        return running.contains(id) ? [.stop(id)] : []
    }

    @usableFromInline
    package mutating func allCancelled() -> [Action] {
        waiting = []
        return running.map { .stop($0) }
    }
}
