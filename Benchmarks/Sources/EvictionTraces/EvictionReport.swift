import InflightCore

/// A report on the hit ratios of all policies over all traces.
struct EvictionReport {
    typealias Ratios = (objects: Double, cost: Double)

    let seeds: [UInt64]

    private static let columns: [(name: String, run: @Sendable (Trace) -> Ratios)] = [
        ("LRU", { run(LRU.self, $0) }),
        ("CLOCK", { run(Clock.self, $0) }),
        ("SIEVE", { run(Sieve.self, $0) }),
        ("S3-FIFO", { run(S3FIFO.self, $0) }),
        ("W-TinyLFU", { run(WindowTinyLFU.self, $0) }),
        ("Inflight", { run(Shipped.self, $0) }),
        ("best possible", { best($0) }),
    ]

    func printTable() {
        print("Seeds: \(seeds.map(String.init).joined(separator: ", ")). Requests / bytes answered, in per cent.\n")
        print("| trace | " + Self.columns.map(\.name).joined(separator: " | ") + " |")
        print("|---|" + String(repeating: "---|", count: Self.columns.count))
        let traces = seeds.map(Trace.all(seed:))
        for (position, trace) in traces[0].enumerated() {
            let cells = Self.columns.map { column in
                let ratios = traces.map { column.run($0[position]) }
                let objects = ratios.map(\.objects).reduce(0, +) / Double(ratios.count)
                let cost = ratios.map(\.cost).reduce(0, +) / Double(ratios.count)
                return Self.percent(objects) + " / " + Self.percent(cost)
            }
            print("| \(trace.name) | " + cells.joined(separator: " | ") + " |")
        }
    }

    /// Prints the cost of a hit, and of a miss followed by an insertion.
    func printSpeed() {
        let (count, cost) = (1 << 16, 1 << 10)
        let cache = MemoryCache<Int, Int>(
            configuration: MemoryCacheConfiguration(limit: 4 * count * cost, reactsToMemoryPressure: false))
        for key in 0..<count { cache.insert(key, for: key, cost: cost) }
        let clock = ContinuousClock()
        func nanoseconds(_ repetitions: Int, _ body: (Int) -> Void) -> Int {
            let elapsed = clock.measure { for turn in 0..<repetitions { body(turn) } }
            return Int(elapsed / .nanoseconds(1)) / repetitions
        }
        var random = SplitMix64(seed: 1)
        let keys = (0..<1_000_000).map { _ in random.below(count) }
        let near = nanoseconds(keys.count) { _ = cache.value(for: keys[$0] & 255) }
        let far = nanoseconds(keys.count) { _ = cache.value(for: keys[$0]) }
        let insertion = nanoseconds(keys.count) { turn in
            if cache.value(for: count + turn) == nil { cache.insert(turn, for: count + turn, cost: cost) }
        }
        print("\nhit among 256 keys: \(near) ns, among \(count): \(far) ns; miss and insertion: \(insertion) ns")
    }

    private static func run<Policy: CachePolicy>(_: Policy.Type, _ trace: Trace) -> Ratios {
        var policy = Policy(limit: trace.limit, keyCount: trace.keyCount)
        var hits = (objects: 0, cost: 0)
        for request in trace.requests where policy.request(request.key, cost: request.cost) {
            hits.objects += 1
            hits.cost += request.cost
        }
        return trace.ratios(hits)
    }

    private static func best(_ trace: Trace) -> Ratios {
        let plain = trace.ratios(Belady(weighsCost: false).hits(of: trace, limit: trace.limit))
        let weighing = trace.ratios(Belady(weighsCost: true).hits(of: trace, limit: trace.limit))
        return (max(plain.objects, weighing.objects), max(plain.cost, weighing.cost))
    }

    private static func percent(_ share: Double) -> String {
        let tenths = Int((share * 1000).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension Trace {
    /// Returns the hit ratios by requests and by bytes.
    func ratios(_ hits: (objects: Int, cost: Int)) -> EvictionReport.Ratios {
        let cost = requests.reduce(0) { $0 + $1.cost }
        return (Double(hits.objects) / Double(requests.count), Double(hits.cost) / Double(cost))
    }
}
