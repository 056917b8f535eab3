import Inflight
import InflightCore

/// Decides which failures are shown one by one: the first few of each origin and error. The others are counted.
struct FailureGroups {
    struct Group: Hashable {
        var origin: String
        var failure: Report.Digest.Failure
    }

    /// The maximum number of equal failures to show.
    static let mostShown = 3
    /// The maximum number of groups to remember. Failures beyond these are all shown.
    static let mostGroups = 1000

    private var counts: [Group: Int] = [:]
    private var order: [Group] = []

    /// Counts a failure.
    ///
    /// - Returns: Whether it should be shown.
    mutating func shows(_ failure: Report.Digest.Failure, of origin: Origin) -> Bool {
        let group = Group(origin: origin.description, failure: failure)
        if let count = counts[group] {
            counts[group] = count + 1
            return count < Self.mostShown
        }
        guard counts.count < Self.mostGroups else { return true }
        counts[group] = 1
        order.append(group)
        return true
    }

    /// Returns and removes the failures that were not shown, in the order of their groups.
    mutating func takeHidden() -> [(group: Group, count: Int)] {
        defer { (counts, order) = ([:], []) }
        return order.compactMap { group in
            let hidden = counts[group, default: 0] - Self.mostShown
            return hidden > 0 ? (group: group, count: hidden) : nil
        }
    }
}
