/// What a ``StartPolicy`` decides, as a value: who begins, who waits, who is stopped.
@usableFromInline
package struct StartMachine: Sendable {
    @usableFromInline package typealias ID = Int

    @usableFromInline
    package enum Action: Hashable, Sendable {
        /// The work is to begin.
        case begin(ID)
        /// The work runs and is to stop. Its place is given back by ``workEnded(_:)``.
        case stop(ID)
        /// The start has come to nothing, and its caller is to be told.
        case refuse(ID)
        case replace(ID)
    }

    private let policy: StartPolicy
    /// Begun, and not ended in fact, in their order.
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

    /// The work has ended in fact, cancelled or not.
    @usableFromInline
    package mutating func workEnded(_ id: ID) -> [Action] {
        guard let index = running.firstIndex(of: id) else { return [] }
        running.remove(at: index)
        guard running.isEmpty, !waiting.isEmpty else { return [] }
        let next = waiting.removeFirst()
        running.append(next)
        return [.begin(next)]
    }

    /// One start is not wanted any more: it leaves the row, or is told to stop.
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
