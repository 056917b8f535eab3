/// CLOCK: first in, first out, but a key that was requested since it was last examined moves back to the front.
struct Clock: CachePolicy {
    private let limit: Int
    private var queue: KeyQueue
    private var visited: [Bool]

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
        while queue.cost + cost > limit {
            let victim = queue.last
            if visited[victim] {
                visited[victim] = false
                queue.moveToFront(victim)
            } else {
                queue.remove(victim)
            }
        }
        queue.prepend(key, cost: cost)
        return false
    }
}
