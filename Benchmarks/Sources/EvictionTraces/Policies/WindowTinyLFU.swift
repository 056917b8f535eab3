/// W-TinyLFU (Einziger, Friedman and Manes, 2017): an LRU window for new keys. A key that leaves the window enters the
/// main segmented LRU only if, according to a sketch of past requests, it is requested more often than its victims.
///
/// Sizes are treated as in the same authors' later work: the candidate's frequency is compared with the sum of its
/// victims' frequencies. The window starts at 1 % of the limit and is adjusted by hill climbing.
struct WindowTinyLFU: CachePolicy {
    private let limit: Int
    private var windowLimit: Int
    private var window: KeyQueue
    private var probation: KeyQueue
    private var protected: KeyQueue
    private var sketch: FrequencySketch
    private var climber: HillClimber

    init(limit: Int, keyCount: Int) {
        self.limit = limit
        windowLimit = limit / 100
        window = KeyQueue(keyCount: keyCount)
        probation = window
        protected = window
        sketch = FrequencySketch()
        climber = HillClimber(limit: limit)
    }

    mutating func request(_ key: Int, cost: Int) -> Bool {
        let count = window.count + probation.count + protected.count
        sketch.record(key, entries: count)
        let hit = window.contains(key) || probation.contains(key) || protected.contains(key)
        windowLimit = climber.record(hit: hit, entries: count, windowLimit: windowLimit)
        if window.contains(key) {
            window.moveToFront(key)
        } else if protected.contains(key) {
            protected.moveToFront(key)
        } else if probation.contains(key) {
            protected.prepend(key, cost: probation.remove(key))
            settleProtected()
        } else {
            window.prepend(key, cost: cost)
        }
        settle()
        return hit
    }

    private mutating func settleProtected() {
        while protected.cost > (limit - windowLimit) / 5 * 4 {
            let key = protected.last
            probation.prepend(key, cost: protected.remove(key))
        }
    }

    private mutating func settle() {
        settleProtected()
        while window.count > 1 && window.cost > windowLimit { admit() }
        while window.cost + probation.cost + protected.cost > limit {
            if probation.count > 0 {
                probation.remove(probation.last)
            } else if protected.count > 0 {
                protected.remove(protected.last)
            } else {
                window.remove(window.last)
            }
        }
    }

    /// Moves the window's oldest key to the main part, or evicts it.
    private mutating func admit() {
        let candidate = window.last
        let cost = window.remove(candidate)
        let wanted = window.cost + probation.cost + protected.cost + cost - limit
        var freed = 0
        var strength = 0
        var victim = probation.last
        let own = sketch.frequency(of: candidate)
        var victims: [Int] = []
        while freed < wanted, victim != KeyQueue.none {
            freed += probation.cost(of: victim)
            strength += sketch.frequency(of: victim)
            victims.append(victim)
            victim = probation.newer(than: victim)
        }
        guard wanted <= 0 || own > strength else { return }
        for victim in victims { probation.remove(victim) }
        probation.prepend(candidate, cost: cost)
    }
}

/// A count-min sketch of four rows. All counts are halved after ten requests per entry.
struct FrequencySketch {
    private static let width = 1 << 16
    private var counts = [UInt8](repeating: 0, count: 4 << 16)
    private var recorded = 0

    mutating func record(_ key: Int, entries: Int) {
        for row in 0..<4 {
            let index = Self.index(key, row)
            if counts[index] < 15 { counts[index] += 1 }
        }
        recorded += 1
        if recorded > 10 * max(entries, 64) {
            for index in counts.indices { counts[index] /= 2 }
            recorded /= 2
        }
    }

    func frequency(of key: Int) -> Int {
        var least: UInt8 = 15
        for row in 0..<4 { least = min(least, counts[Self.index(key, row)]) }
        return Int(least)
    }

    private static func index(_ key: Int, _ row: Int) -> Int {
        var generator = SplitMix64(seed: UInt64(key) &* 4 &+ UInt64(row))
        return row * width + Int(generator.next() % UInt64(width))
    }
}

/// Moves the window's limit in the direction that last improved the hit ratio, by decreasing steps.
struct HillClimber {
    private let limit: Int
    private var step: Double
    private var hits = 0
    private var requests = 0
    private var lastRatio = 0.0

    init(limit: Int) {
        self.limit = limit
        step = Double(limit) * 0.0625
    }

    /// Returns the window's limit after this request.
    mutating func record(hit: Bool, entries: Int, windowLimit: Int) -> Int {
        requests += 1
        if hit { hits += 1 }
        guard requests >= 10 * max(entries, 64) else { return windowLimit }
        let ratio = Double(hits) / Double(requests)
        let change = ratio - lastRatio
        if change < 0 { step = -step }
        let moved = Double(windowLimit) + step
        step = abs(change) >= 0.05 ? (step < 0 ? -1 : 1) * Double(limit) * 0.0625 : step * 0.98
        lastRatio = ratio
        hits = 0
        requests = 0
        return Int(min(max(moved, Double(limit) * 0.01), Double(limit) * 0.8))
    }
}
