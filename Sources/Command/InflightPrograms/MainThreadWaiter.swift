internal import Glibc
internal import InflightConcurrency

/// Blocks one thread, usually the main one, until the work ends, and meanwhile handles SIGINT, SIGTERM and SIGHUP.
///
/// The signals are blocked in every thread and accepted only here, so they are handled even if all other threads are
/// busy or blocked.
package final class MainThreadWaiter: Sendable {
    /// A signal's request to end, with the exit status of the shell's convention.
    package struct Interruption: Sendable {
        package var status: Int32
        package var text: String
    }

    /// The maximum time for an orderly end, after which the process exits.
    private static let timeout = Duration.milliseconds(750)
    /// The signal that wakes the waiting thread when the work has ended.
    private static let wakeup = SIGUSR1

    private let status = Guarded<Int32?>(nil)
    private let watched: sigset_t

    /// Call it on the main thread before any other thread starts, because threads inherit the blocked signals.
    package init() {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in [SIGINT, SIGTERM, Self.wakeup] { unsafe sigaddset(&set, signal) }
        // A process started with `nohup` is meant to continue when the terminal is closed.
        var hangup = sigaction()
        unsafe sigaction(SIGHUP, nil, &hangup)
        if !Self.isIgnored(hangup) { unsafe sigaddset(&set, SIGHUP) }
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        watched = set
    }

    /// The work has ended. May be called from any thread; the first status counts.
    package func end(_ value: Int32) {
        status.withLock { if $0 == nil { $0 = value } }
        // Sent to the process, so that the waiting thread accepts it.
        kill(getpid(), Self.wakeup)
    }

    /// Waits for ``end(_:)``.
    ///
    /// - Parameters:
    ///   - interrupt: Called once, to end the work soon.
    ///   - abandon: Called if that takes too long, or a second signal arrives: the last chance to clean up.
    package func wait(interrupt: (Interruption) -> Void, abandon: () -> Void) -> Int32 {
        let clock = SystemClock()
        var interruption: Interruption?
        var deadline = MonotonicTime.distantFuture
        while true {
            if let status = status.withLock(\.self) { return status }
            let left = interruption == nil ? nil : deadline - clock.now()
            let signal = next(within: left)
            if let status = status.withLock(\.self) { return status }
            if signal == SIGINT || signal == SIGTERM || signal == SIGHUP {
                if let interruption {
                    abandon()
                    return interruption.status
                }
                let ending = Self.interruption(signal)
                interruption = ending
                deadline = clock.now() + Self.timeout
                interrupt(ending)
            } else if let interruption, clock.now() >= deadline {
                abandon()
                return interruption.status
            }
        }
    }

    /// Returns the next signal, or -1 after the time limit.
    private func next(within limit: Duration?) -> Int32 {
        var set = watched
        guard let limit else {
            var signal: Int32 = 0
            return unsafe sigwait(&set, &signal) == 0 ? signal : -1
        }
        let nanoseconds = max(0, limit.saturatedNanoseconds)
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        return unsafe sigtimedwait(&set, nil, &time)
    }

    private static func interruption(_ signal: Int32) -> Interruption {
        Interruption(status: 128 + signal, text: signal == SIGINT ? "Interrupted" : "Terminated")
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        unsafe unsafeBitCast(action.__sigaction_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
