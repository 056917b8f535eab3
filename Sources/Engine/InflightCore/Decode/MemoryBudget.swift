/// The memory limit that decodes share, as a value. Requests that do not fit are queued by priority, and within a
/// priority in the order in which they reached it. Only a more urgent request overtakes the first in the queue, so that
/// small requests do not starve a large one.
struct MemoryBudget<Waiter> {
    let limit: Int
    private(set) var taken = 0
    private var waiting: [(waiter: Waiter, bytes: Int, priority: ImageRequest.Priority)] = []

    var waitingCount: Int { waiting.count }

    init(limit: Int) {
        self.limit = max(0, limit)
    }

    enum Answer: Hashable {
        case taken
        /// ``release(_:)`` will return the waiter.
        case waits
        /// The request exceeds the limit and never fits.
        case refused
    }

    /// - Parameter bytes: 0 or more.
    mutating func take(_ bytes: Int, for waiter: Waiter, priority: ImageRequest.Priority = .normal) -> Answer {
        if bytes > limit { return .refused }
        let position = position(priority)
        guard position == 0, bytes <= limit - taken else {
            waiting.insert((waiter, bytes, priority), at: position)
            return .waits
        }
        taken += bytes
        return .taken
    }

    /// Takes the memory only if it is available now.
    mutating func takeNow(_ bytes: Int) -> Bool {
        guard waiting.isEmpty, bytes <= limit - taken else { return false }
        taken += bytes
        return true
    }

    /// Memory was released.
    ///
    /// - Returns: the waiters whose requests are granted now, in order.
    mutating func release(_ bytes: Int) -> [Waiter] {
        taken -= bytes
        precondition(taken >= 0, "more memory was released than reserved")
        return next()
    }

    /// A waiter has withdrawn its request.
    ///
    /// - Returns: the waiter, if it was queued, and the waiters whose requests are granted as a result.
    mutating func cancelled(_ isIt: (Waiter) -> Bool) -> (waiter: Waiter?, next: [Waiter]) {
        guard let index = waiting.firstIndex(where: { isIt($0.waiter) }) else { return (nil, []) }
        let waiter = waiting.remove(at: index).waiter
        return (waiter, next())
    }

    /// The priority of a job that may be queued has changed.
    ///
    /// - Returns: the waiters whose requests are granted as a result.
    mutating func move(to priority: ImageRequest.Priority, _ isIt: (Waiter) -> Bool) -> [Waiter] {
        guard let index = waiting.firstIndex(where: { isIt($0.waiter) }), waiting[index].priority != priority else {
            return []
        }
        var entry = waiting.remove(at: index)
        entry.priority = priority
        waiting.insert(entry, at: position(priority))
        return next()
    }

    /// Returns the position in the queue for a request of that priority.
    private func position(_ priority: ImageRequest.Priority) -> Int {
        waiting.firstIndex { $0.priority < priority } ?? waiting.count
    }

    private mutating func next() -> [Waiter] {
        var ready: [Waiter] = []
        while let first = waiting.first, first.bytes <= limit - taken {
            taken += first.bytes
            ready.append(first.waiter)
            waiting.removeFirst()
        }
        return ready
    }
}
