/// The state machine of an ``OverlapPolicy``: which starts begin, wait or are stopped.
@usableFromInline
package struct StartMachine: Sendable {
    @usableFromInline package typealias ID = Int

    @usableFromInline
    package enum Action: Hashable, Sendable {
        /// The work is to begin.
        case begin(ID)
        /// The work is running and is to stop. It counts as running until ``workEnded(_:)``.
        case stop(ID)
        /// The start was refused, and its caller is to be notified.
        case refuse(ID)
        case replace(ID)
    }

    private let policy: OverlapPolicy
    /// The starts whose work has begun and not actually ended, in their order.
    @usableFromInline package internal(set) var running: [ID] = []
    package private(set) var waiting: [ID] = []

    @usableFromInline
    package init(_ policy: OverlapPolicy) {
        self.policy = policy
    }

    @usableFromInline
    package mutating func started(_ id: ID) -> [Action] {
        if running.isEmpty || policy == .concurrent {
            running.append(id)
            return [.begin(id)]
        }
        switch policy {
        case .rejectNew: return [.refuse(id)]
        case .queue, .concurrent:
            waiting.append(id)
            return []
        case .cancelRunning:
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
