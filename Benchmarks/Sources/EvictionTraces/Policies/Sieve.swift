/// SIEVE (Zhang and others, NSDI 2024): keys never move in the queue. A hand moves from the oldest to the newest key,
/// skips keys that were requested since its last visit, and evicts the first that was not.
struct Sieve: CachePolicy {
    private let limit: Int
    private var queue: KeyQueue
    private var visited: [Bool]
    private var hand = KeyQueue.none

    init(limit: Int, keyCount: Int) {
        self.limit = limit
        queue = KeyQueue(keyCount: keyCount)
        visited = Array(repeating: false, count: keyCount)
    }

    mutating func request(_ key: Int, cost: Int) -> Bool {
        if queue.contains(key) {
            visited[key] = true
            return true
        }
        while queue.cost + cost > limit { evict() }
        queue.prepend(key, cost: cost)
        return false
    }

    private mutating func evict() {
        var victim = hand == KeyQueue.none ? queue.last : hand
        while visited[victim] {
            visited[victim] = false
            victim = queue.newer(than: victim)
            if victim == KeyQueue.none { victim = queue.last }
        }
        hand = queue.newer(than: victim)
        queue.remove(victim)
    }
}
