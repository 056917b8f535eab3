/// A date: milliseconds since 1970-01-01 00:00 UTC. What wall clocks show may jump in both directions.
public struct WallTime: Hashable, Comparable, Sendable {
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Saturates; not a number counts as 1970.
    public init(secondsSince1970 seconds: Double) {
        let scaled = seconds * 1000
        milliseconds = scaled.isNaN ? 0 : Int64(exactly: scaled.rounded()) ?? (scaled < 0 ? .min : .max)
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension WallTime {
    /// Saturates.
    package func adding(milliseconds: Int64) -> WallTime {
        let sum = self.milliseconds.addingReportingOverflow(milliseconds)
        return WallTime(milliseconds: sum.overflow ? (milliseconds < 0 ? .min : .max) : sum.partialValue)
    }

    /// How much later this is than `other`, negative where it is earlier. Saturates.
    package func milliseconds(since other: WallTime) -> Int64 {
        let difference = milliseconds.subtractingReportingOverflow(other.milliseconds)
        return difference.overflow ? (milliseconds < other.milliseconds ? .min : .max) : difference.partialValue
    }
}
