internal import InflightConcurrency

/// A date, in milliseconds since 1970-01-01 00:00 UTC. Wall clocks may jump in both directions.
public struct WallTime: Hashable, Comparable, Sendable {
    /// The milliseconds since 1970-01-01 00:00 UTC; negative for earlier dates.
    public var milliseconds: Int64

    /// Creates a date from the milliseconds since 1970-01-01 00:00 UTC.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Creates a date from the seconds since 1970-01-01 00:00 UTC, rounded to milliseconds and saturated to the range.
    /// NaN counts as 0.
    public init(secondsSince1970 seconds: Double) {
        let scaled = seconds * 1000
        milliseconds = scaled.isNaN ? 0 : Int64(exactly: scaled.rounded()) ?? (scaled < 0 ? .min : .max)
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension WallTime {
    /// Returns the date that many milliseconds later. Saturates.
    package func adding(milliseconds: Int64) -> WallTime {
        let sum = self.milliseconds.addingReportingOverflow(milliseconds)
        return WallTime(milliseconds: sum.overflow ? (milliseconds < 0 ? .min : .max) : sum.partialValue)
    }

    /// Returns by how much this is later than `other`; negative if it is earlier. Saturates.
    package func milliseconds(since other: WallTime) -> Int64 {
        let difference = milliseconds.subtractingReportingOverflow(other.milliseconds)
        return difference.overflow ? (milliseconds < other.milliseconds ? .min : .max) : difference.partialValue
    }
}

extension EngineClock {
    /// The current date.
    var wallTime: WallTime { WallTime(secondsSince1970: secondsSince1970()) }
}
