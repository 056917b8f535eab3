/// What is kept of many loads: the first, the last, and the slowest of those between them, so that a run of a million lines
/// takes no more memory than one of some thousands.
struct KeptLoads<Load> {
    private let first: Int
    private let last: Int
    private let slow: Int
    private var beginning: [Load] = []
    /// A ring, once it is full.
    private var latest: [Load] = []
    private var oldest = 0
    private var slowest: [(load: Load, duration: Int)] = []
    /// What is faster than this is not among the slowest.
    private var threshold = -1
    private var durations: [Int] = []
    private var forgotten = 0

    init(first: Int = 4000, last: Int = 4000, slowest: Int = 2000) {
        self.first = max(1, first)
        self.last = max(1, last)
        slow = max(1, slowest)
    }

    mutating func add(_ load: Load, duration: Int) {
        if beginning.count < first {
            beginning.append(load)
        } else if latest.count < last {
            latest.append(load)
            durations.append(duration)
        } else {
            offer(latest[oldest], durations[oldest])
            latest[oldest] = load
            durations[oldest] = duration
            oldest = (oldest + 1) % last
        }
    }

    private mutating func offer(_ load: Load, _ duration: Int) {
        guard duration > threshold else {
            forgotten += 1
            return
        }
        slowest.append((load, duration))
        // Sorted now and then: nothing is sorted for each.
        guard slowest.count >= slow * 2 else { return }
        slowest.sort { $0.duration > $1.duration }
        forgotten += slowest.count - slow
        slowest.removeLast(slowest.count - slow)
        threshold = slowest.last?.duration ?? -1
    }

    /// How many are not among ``all``.
    var leftOut: Int { forgotten + max(0, slowest.count - slow) }

    /// In no particular order.
    var all: [Load] {
        beginning + latest + slowest.sorted { $0.duration > $1.duration }.prefix(slow).map(\.load)
    }
}
