/// LRU: evicts the least recently used key.
struct LRU: CachePolicy {
    private let limit: Int
    private var queue: KeyQueue

    init(limit: Int, keyCount: Int) {
        self.limit = limit
        queue = KeyQueue(keyCount: keyCount)
    }

    mutating func request(_ key: Int, cost: Int) -> Bool {
        if queue.contains(key) {
            queue.moveToFront(key)
            return true
        }
        while queue.cost + cost > limit { queue.remove(queue.last) }
        queue.prepend(key, cost: cost)
        return false
    }
}
