/// A moment on a monotonic clock, in nanoseconds since an arbitrary start.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    /// The time since the clock's start, in nanoseconds.
    public var nanoseconds: Int64

    /// Creates a moment from its distance to the clock's start, in nanoseconds.
    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock's start.
    @inlinable public static var zero: MonotonicTime { MonotonicTime(nanoseconds: 0) }
    /// The latest moment that can be represented, about 292 years after ``zero``: a deadline that never comes.
    @inlinable public static var distantFuture: MonotonicTime { MonotonicTime(nanoseconds: .max) }

    @inlinable
    public static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Returns the moment that is `right` after `left`, or the latest or earliest that can be represented if the sum
    /// overflows.
    @inlinable
    public static func + (left: Self, right: Duration) -> Self {
        let sum = left.nanoseconds.addingReportingOverflow(right.saturatedNanoseconds)
        return MonotonicTime(nanoseconds: sum.overflow ? (right < .zero ? .min : .max) : sum.partialValue)
    }

    /// Returns the time from `right` to `left`, negative if `left` is earlier. A difference that overflows is
    /// `Int64.max` or `Int64.min` nanoseconds.
    @inlinable
    public static func - (left: Self, right: Self) -> Duration {
        let difference = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(difference.overflow ? (left < right ? .min : .max) : difference.partialValue)
    }
}

extension Duration {
    /// This duration in nanoseconds, clamped to the range of `Int64`. Fractions of a nanosecond are dropped.
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

    /// Runs `body` once, soon after `deadline`, on a thread of the clock's choice. Any thread may call. `body` must not
    /// block, because it may delay other timers.
    ///
    /// - Parameters:
    ///   - deadline: The moment, on the scale of ``now()``, before which `body` does not run. It may have passed.
    ///   - body: The work. It is released after it has run or when it is cancelled.
    /// - Returns: A handle whose `cancel()` prevents `body` from starting, and releases it. Releasing the handle
    ///   cancels nothing.
    func schedule(at deadline: MonotonicTime, _ body: @escaping @Sendable () -> Void) -> any ScheduledWork
}

/// A handle to work that is scheduled on a clock.
public protocol ScheduledWork: Sendable {
    /// Cancels the work. Idempotent; any thread. Does not wait for a body that has already started.
    func cancel()
}
