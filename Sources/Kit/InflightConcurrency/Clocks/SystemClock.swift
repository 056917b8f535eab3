import Glibc

/// The system's clocks: `CLOCK_MONOTONIC` for moments, `CLOCK_REALTIME` for dates.
///
/// All instances share one thread, which runs scheduled work, one piece after the other.
public struct SystemClock: EngineClock {
    /// Creates a clock. It has no state of its own, so all instances show the same time.
    public init() {}

    public func now() -> MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    public func secondsSince1970() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    public func schedule(
        at deadline: MonotonicTime, _ body: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let timer = SystemTimer(body)
        TimerThread.shared.add(timer, at: deadline)
        return timer
    }
}

/// A closure that runs at most once, unless `cancel()` releases it first.
final class SystemTimer: ScheduledWork {
    private let body: Guarded<(@Sendable () -> Void)?>

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = Guarded(body)
    }

    var isCancelled: Bool { body.withLock { $0 == nil } }

    func fire() {
        take()?()
    }

    func cancel() {
        let body = take()
        withExtendedLifetime(body) {}
    }

    private func take() -> (@Sendable () -> Void)? {
        body.withLock { body in
            defer { body = nil }
            return body
        }
    }
}
