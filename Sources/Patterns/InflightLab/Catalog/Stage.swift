internal import Glibc
internal import InflightConcurrency

/// The environment of experiments: the duration of their pieces of work, and the launcher of their child processes.
package struct Stage: Sendable {
    /// The approximate duration of a piece of work. Drawings are made for 20 ms; tests take less.
    package var unit: Duration
    /// The time limit of a child process, and of anything else that could wait forever.
    package var timeout: Duration
    package var children: ChildLauncher

    package init(
        unit: Duration = .milliseconds(20), timeout: Duration = .seconds(5), children: ChildLauncher = ChildLauncher()
    ) {
        self.unit = unit
        self.timeout = timeout
        self.children = children
    }

    /// Lets the thread sleep, like work that waits for a disk or a server.
    package func rest(_ units: Double = 1) {
        let nanoseconds = Int64(Double(unit.saturatedNanoseconds) * units)
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        var left = timespec()
        while unsafe nanosleep(&time, &left) != 0, errno == EINTR { time = left }
    }

    /// Lets the thread compute for that long, by its own CPU time: longer if it has to share its processor.
    package func compute(_ units: Double = 1) {
        let end = Self.threadTime() + Int64(Double(unit.saturatedNanoseconds) * units)
        while Self.threadTime() < end {}
    }

    /// Returns the duration of that many units.
    package func units(_ units: Double) -> Duration {
        .nanoseconds(Int64(Double(unit.saturatedNanoseconds) * units))
    }

    private static func threadTime() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
