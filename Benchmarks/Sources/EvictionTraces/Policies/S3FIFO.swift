/// S3-FIFO (Yang and others, SOSP 2023): a small queue for new keys, a main queue for keys that were requested again,
/// and a ghost queue, which remembers the keys evicted from the small one. Queue limits are in bytes.
struct S3FIFO: CachePolicy {
    private let limit: Int
    private let smallLimit: Int
    private var small: KeyQueue
    private var main: KeyQueue
    private var ghost: KeyQueue
    private var uses: [UInt8]

    init(limit: Int, keyCount: Int) {
        self.limit = limit
        smallLimit = limit / 10
        small = KeyQueue(keyCount: keyCount)
        main = small
        ghost = small
        uses = Array(repeating: 0, count: keyCount)
    }

    mutating func request(_ key: Int, cost: Int) -> Bool {
        if small.contains(key) || main.contains(key) {
            uses[key] = min(uses[key] + 1, 3)
            return true
        }
        while small.cost + main.cost + cost > limit { evict() }
        uses[key] = 0
        if ghost.contains(key) {
            ghost.remove(key)
            main.prepend(key, cost: cost)
        } else {
            small.prepend(key, cost: cost)
        }
        return false
    }

    private mutating func evict() {
        if small.count > 0, small.cost >= smallLimit || main.count == 0 {
            evictFromSmall()
        } else {
            evictFromMain()
        }
    }

    private mutating func evictFromSmall() {
        let key = small.last
        let cost = small.remove(key)
        if uses[key] > 1 {
            uses[key] = 0
            main.prepend(key, cost: cost)
        } else {
            ghost.prepend(key, cost: cost)
            while ghost.cost > limit - smallLimit { ghost.remove(ghost.last) }
        }
    }

    private mutating func evictFromMain() {
        let key = main.last
        if uses[key] > 0 {
            uses[key] -= 1
            main.moveToFront(key)
        } else {
            main.remove(key)
        }
    }
}
