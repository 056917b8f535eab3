/// From when rows count their patience.
///
/// A run reads ahead to find rows of other hosts. Rows that are read early begin to count when the rows long before
/// them have ended. So a host with many rows fails no more of them than if they had been read then.
struct PatienceStarts: Sendable {
    /// Of rows that still wait, each began to count in one of the last steps.
    private static let stepLimit = 64

    /// Rows before `end` count from this time on, unless they do already.
    private var steps: [(end: Int, time: Duration)] = []

    /// Lets rows before `end` count from now on, unless they do already. Before the first call, all rows count from
    /// when they were read.
    mutating func extend(to end: Int, at now: Duration) {
        guard end > steps.last?.end ?? 0 else { return }
        if steps.count == Self.stepLimit { steps.removeFirst() }
        steps.append((end, now))
    }

    /// Returns from when a row counts its patience, or `nil` if it does not yet.
    func start(of row: Int, readAt time: Duration) -> Duration? {
        guard let last = steps.last else { return time }
        guard row < last.end else { return nil }
        return max(time, steps.first { row < $0.end }?.time ?? time)
    }
}
