/// A moment on a monotonic clock, in nanoseconds since an arbitrary start.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    @inlinable public static var zero: MonotonicTime { MonotonicTime(nanoseconds: 0) }
    @inlinable public static var distantFuture: MonotonicTime { MonotonicTime(nanoseconds: .max) }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Saturates instead of overflowing.
    @inlinable
    public static func + (left: Self, right: Duration) -> Self {
        let sum = left.nanoseconds.addingReportingOverflow(right.saturatedNanoseconds)
        return MonotonicTime(nanoseconds: sum.overflow ? .max : sum.partialValue)
    }

    /// The time from `right` to `left`.
    @inlinable
    public static func - (left: Self, right: Self) -> Duration {
        let difference = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(difference.overflow ? .max : difference.partialValue)
    }
}

extension Duration {
    /// This duration in nanoseconds, clamped to the range of `Int64`.
    @inlinable
    public var saturatedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let scaled = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if scaled.overflow { return seconds < 0 ? .min : .max }
        let sum = scaled.partialValue.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sum.overflow ? (seconds < 0 ? .min : .max) : sum.partialValue
    }
}

/// The engine's only source of time. All code in the engine that waits, measures or compares dates uses it.
///
/// Conformers: ``SystemClock``, and the test kit's `VirtualClock`, which a test moves by hand.
public protocol EngineClock: Sendable {
    /// Returns the current time, which never goes back. Any thread; about 30 ns on a real clock.
    func now() -> MonotonicTime

    /// Returns the date, in seconds since 1970-01-01 00:00 UTC. May jump in both directions, as wall clocks do.
    func secondsSince1970() -> Double

    /// Runs `body` once, soon after `deadline`, on a thread of the clock's choice. `body` must not block.
    ///
    /// - Returns: A handle whose `cancel()` prevents `body` from starting, and releases it.
    func schedule(at deadline: MonotonicTime, _ body: @escaping @Sendable () -> Void) -> any ScheduledWork
}

/// Work that is scheduled on a clock.
public protocol ScheduledWork: Sendable {
    /// Cancels the work. Idempotent; any thread. Does not wait for a body that has already started.
    func cancel()
}
