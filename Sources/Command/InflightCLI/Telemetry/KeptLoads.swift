/// The loads that are kept of many: the first, the last, and the slowest of those between them, so that a run of a
/// million lines takes no more memory than one of a few thousand.
struct KeptLoads<Load> {
    private let first: Int
    private let last: Int
    private let slow: Int
    private var beginning: [Load] = []
    /// A ring, once it is full.
    private var latest: [Load] = []
    private var oldest = 0
    private var slowest: [(load: Load, duration: Int)] = []
    /// A load that is not slower than this is not among the slowest.
    private var threshold = -1
    private var durations: [Int] = []

    init(first: Int = 4000, last: Int = 4000, slowest: Int = 2000) {
        self.first = max(1, first)
        self.last = max(1, last)
        slow = max(1, slowest)
    }

    /// - Returns: The loads that are not kept any more.
    mutating func add(_ load: Load, duration: Int) -> [Load] {
        if beginning.count < first {
            beginning.append(load)
            return []
        }
        if latest.count < last {
            latest.append(load)
            durations.append(duration)
            return []
        }
        let forgotten = offer(latest[oldest], durations[oldest])
        latest[oldest] = load
        durations[oldest] = duration
        oldest = (oldest + 1) % last
        return forgotten
    }

    private mutating func offer(_ load: Load, _ duration: Int) -> [Load] {
        guard duration > threshold else { return [load] }
        slowest.append((load, duration))
        // Sorted only now and then, to avoid sorting for each load.
        return slowest.count >= slow * 2 ? settle() : []
    }

    /// Reduces the kept loads to their limit, which they exceed slightly for a while.
    ///
    /// - Returns: The loads that are not kept any more.
    mutating func settle() -> [Load] {
        guard slowest.count > slow else { return [] }
        slowest.sort { $0.duration > $1.duration }
        let forgotten = slowest[slow...].map(\.load)
        slowest.removeLast(forgotten.count)
        threshold = slowest.last?.duration ?? -1
        return forgotten
    }

    /// All kept loads, in no particular order.
    var all: [Load] { beginning + latest + slowest.map(\.load) }
}
