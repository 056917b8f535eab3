/// Who may take how much of a bounded memory, as a value: what does not fit waits, the most urgent first, and among equals in
/// the order in which it came to its priority. Only what is more urgent overtakes the one that waits first, so that what is
/// large has its turn.
struct MemoryBudget<Waiter> {
    let limit: Int
    private(set) var taken = 0
    private var waiting: [(waiter: Waiter, bytes: Int, priority: LoadPriority)] = []

    var waitingCount: Int { waiting.count }

    init(limit: Int) {
        self.limit = max(0, limit)
    }

    enum Answer: Hashable {
        case taken
        /// ``given(back:)`` will name it.
        case waits
        /// It never fits.
        case refused
    }

    /// - Parameter bytes: 0 or more.
    mutating func take(_ bytes: Int, for waiter: Waiter, priority: LoadPriority = .normal) -> Answer {
        if bytes > limit { return .refused }
        let position = position(priority)
        guard position == 0, bytes <= limit - taken else {
            waiting.insert((waiter, bytes, priority), at: position)
            return .waits
        }
        taken += bytes
        return .taken
    }

    /// Takes it only where it fits now.
    mutating func takeNow(_ bytes: Int) -> Bool {
        guard waiting.isEmpty, bytes <= limit - taken else { return false }
        taken += bytes
        return true
    }

    /// What was taken is free again.
    ///
    /// - Returns: those who waited and have theirs now, in order.
    mutating func given(back bytes: Int) -> [Waiter] {
        taken -= bytes
        precondition(taken >= 0, "more memory was given back than taken")
        return next()
    }

    /// One that waits does not want it any more.
    ///
    /// - Returns: it, where it waited, and those who have theirs now because of that.
    mutating func gaveUp(_ isIt: (Waiter) -> Bool) -> (waiter: Waiter?, next: [Waiter]) {
        guard let index = waiting.firstIndex(where: { isIt($0.waiter) }) else { return (nil, []) }
        let waiter = waiting.remove(at: index).waiter
        return (waiter, next())
    }

    /// One that may wait is worth something else.
    ///
    /// - Returns: those who have theirs now because of that.
    mutating func move(to priority: LoadPriority, _ isIt: (Waiter) -> Bool) -> [Waiter] {
        guard let index = waiting.firstIndex(where: { isIt($0.waiter) }), waiting[index].priority != priority else {
            return []
        }
        var entry = waiting.remove(at: index)
        entry.priority = priority
        waiting.insert(entry, at: position(priority))
        return next()
    }

    /// Where one of that priority waits.
    private func position(_ priority: LoadPriority) -> Int {
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
