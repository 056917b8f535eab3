/// How long rows that are seen wait for their pictures.
///
/// Many leave before their picture comes, and those that wait longest leave most. So times are not counted of those alone
/// who got theirs: a row that left has waited for at least so long (the product-limit estimate of Kaplan and Meier,
/// "Nonparametric Estimation from Incomplete Observations", 1958).
package struct VisibleWaits: Sendable {
    /// Rows that came into sight with their picture, that got it while they were seen, and that left without.
    package private(set) var had = 0
    package private(set) var got = 0
    package private(set) var left = 0
    private var ends: [(time: Int, isServed: Bool)] = []
    /// Rows that are seen, and since when they have waited; none where they wait for nothing any more.
    private var seen: [Int: Int?] = [:]

    package init() {}

    /// Somebody looked.
    ///
    /// - Parameters:
    ///   - rows: those that are seen now, and whether their pictures are there. The others have left.
    ///   - now: in milliseconds.
    package mutating func look(_ rows: [Int: Bool], at now: Int) {
        for (row, isLoaded) in rows {
            switch (seen[row], isLoaded) {
            case (nil, true):
                had += 1
                seen[row] = .some(nil)
            case (nil, false): seen[row] = now
            case (.some(let since?), true):
                gotIt(after: now - since)
                seen[row] = .some(nil)
            default: break
            }
        }
        for (row, since) in seen where rows[row] == nil {
            if let since { left(after: now - since) }
            seen[row] = nil
        }
    }

    /// - Parameter milliseconds: since it came into sight.
    package mutating func gotIt(after milliseconds: Int) {
        got += 1
        ends.append((milliseconds, true))
    }

    package mutating func left(after milliseconds: Int) {
        left += 1
        ends.append((milliseconds, false))
    }

    package var count: Int { had + got + left }

    /// After how many milliseconds this share of rows without a picture has theirs, if they stay; none where too few stayed
    /// for so long.
    package func percentile(_ share: Double) -> Int? {
        var waiting = 1.0
        var atRisk = ends.count
        // At the same time who gets it goes before who leaves.
        for end in ends.sorted(by: { ($0.time, $0.isServed ? 0 : 1) < ($1.time, $1.isServed ? 0 : 1) }) {
            if end.isServed { waiting *= 1 - 1 / Double(atRisk) }
            atRisk -= 1
            if waiting <= 1 - share { return end.time }
        }
        return nil
    }

    /// In a line of text.
    package var told: String {
        func part(_ number: Int) -> String { "\(number * 100 / max(1, count)) %" }
        func time(_ share: Double) -> String { percentile(share).map { "\($0) ms" } ?? "longer than any stayed" }
        return "\(count) rows seen: \(part(had)) had their picture, \(part(got)) got it, \(part(left)) left before; "
            + "the wait: median \(time(0.5)), p95 \(time(0.95))"
    }
}
