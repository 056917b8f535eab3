/// The loads that a run keeps: the first, the last, and the slowest of the others, so that a run of a million lines
/// takes about as much memory as one of ten thousand.
struct RetainedLoads<Load> {
    private let first: Int
    private let last: Int
    private let slow: Int
    private var beginning: [Load] = []
    /// A ring buffer, once it is full.
    private var latest: [Load] = []
    private var oldest = 0
    private var slowest: [(load: Load, duration: Int)] = []
    /// The duration that a load has to exceed to be one of the slowest.
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
        // Sorted once per `slow` additions, not for each load.
        return slowest.count >= slow * 2 ? settle() : []
    }

    /// Reduces the slowest loads to their limit, which they may exceed until twice as many are stored.
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
