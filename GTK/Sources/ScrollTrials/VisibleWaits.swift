/// The times that visible rows wait for their images.
///
/// Many rows leave before their image arrives, and rows that wait longest leave most often. So the times of rows that
/// got their image are not enough. A row that left has waited for at least that time (the product-limit estimate of
/// Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations", 1958).
package struct VisibleWaits: Sendable {
    /// The number of rows that became visible with their image, that got it while visible, and that left without it.
    package private(set) var had = 0
    package private(set) var got = 0
    package private(set) var left = 0
    private var ends: [(time: Int, isServed: Bool)] = []
    /// The visible rows, and since when each has waited, or nil if it no longer waits.
    private var seen: [Int: Int?] = [:]

    package init() {}

    /// Records the rows that are visible now.
    ///
    /// - Parameters:
    ///   - rows: the visible rows, and whether their images are loaded. All other rows have left.
    ///   - now: the time in milliseconds.
    package mutating func look(_ rows: [Int: Bool], at now: Int) {
        for (row, isLoaded) in rows {
            switch (seen[row], isLoaded) {
            case (nil, true):
                had += 1
                seen[row] = .some(nil)
            case (nil, false): seen[row] = now
            case (.some(let since?), true):
                received(after: now - since)
                seen[row] = .some(nil)
            default: break
            }
        }
        for (row, since) in seen where rows[row] == nil {
            if let since { left(after: now - since) }
            seen[row] = nil
        }
    }

    /// - Parameter milliseconds: the time since the row became visible.
    package mutating func received(after milliseconds: Int) {
        got += 1
        ends.append((milliseconds, true))
    }

    package mutating func left(after milliseconds: Int) {
        left += 1
        ends.append((milliseconds, false))
    }

    package var count: Int { had + got + left }

    /// Returns the time in milliseconds after which this share of the rows without an image has it if they stay, or
    /// nil if too few rows stayed that long.
    package func percentile(_ share: Double) -> Int? {
        var waiting = 1.0
        var atRisk = ends.count
        // At equal times, a row that got its image comes before a row that left.
        for end in ends.sorted(by: { ($0.time, $0.isServed ? 0 : 1) < ($1.time, $1.isServed ? 0 : 1) }) {
            if end.isServed { waiting *= 1 - 1 / Double(atRisk) }
            atRisk -= 1
            if waiting <= 1 - share { return end.time }
        }
        return nil
    }

    /// The counts and times as one line of text.
    package var told: String {
        func part(_ number: Int) -> String { "\(number * 100 / max(1, count)) %" }
        func time(_ share: Double) -> String { percentile(share).map { "\($0) ms" } ?? "longer than any stayed" }
        return "\(count) rows seen: \(part(had)) had their picture, \(part(got)) got it, \(part(left)) left before; "
            + "the wait: median \(time(0.5)), p95 \(time(0.95))"
    }
}
