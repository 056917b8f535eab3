/// A simulated cache, which reports whether each request is a hit.
///
/// Keys are small integers, so that a policy can use arrays in place of a hash table.
protocol CachePolicy {
    init(limit: Int, keyCount: Int)

    /// Returns whether `key` is in the cache. If not, inserts it, unless the policy rejects it.
    mutating func request(_ key: Int, cost: Int) -> Bool
}

/// A doubly linked queue of keys. All operations take constant time.
struct KeyQueue {
    static let none = -1

    private(set) var first = none
    private(set) var last = none
    private(set) var cost = 0
    private(set) var count = 0
    private var newer: [Int]
    private var older: [Int]
    private var costs: [Int]

    init(keyCount: Int) {
        newer = Array(repeating: Self.none, count: keyCount)
        older = newer
        costs = Array(repeating: 0, count: keyCount)
    }

    func contains(_ key: Int) -> Bool { costs[key] > 0 }
    func cost(of key: Int) -> Int { costs[key] }
    /// Returns the next newer key.
    func newer(than key: Int) -> Int { newer[key] }

    mutating func prepend(_ key: Int, cost: Int) {
        costs[key] = cost
        older[key] = first
        newer[key] = Self.none
        if first == Self.none { last = key } else { newer[first] = key }
        first = key
        self.cost += cost
        count += 1
    }

    /// Removes `key` and returns its cost.
    @discardableResult
    mutating func remove(_ key: Int) -> Int {
        let (before, after, cost) = (newer[key], older[key], costs[key])
        if before == Self.none { first = after } else { older[before] = after }
        if after == Self.none { last = before } else { newer[after] = before }
        costs[key] = 0
        self.cost -= cost
        count -= 1
        return cost
    }

    mutating func moveToFront(_ key: Int) {
        prepend(key, cost: remove(key))
    }
}
