internal import Glibc

/// The CPU time of this process so far, and the time on the monotonic clock.
public struct Usage: Sendable {
    /// User and system time of all threads, in seconds.
    public var cpu: Double
    /// The time on the monotonic clock, in seconds.
    public var wall: Double

    public static func now() -> Usage {
        Usage(cpu: seconds(CLOCK_PROCESS_CPUTIME_ID), wall: seconds(CLOCK_MONOTONIC))
    }

    public static func - (left: Usage, right: Usage) -> Usage {
        Usage(cpu: left.cpu - right.cpu, wall: left.wall - right.wall)
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
