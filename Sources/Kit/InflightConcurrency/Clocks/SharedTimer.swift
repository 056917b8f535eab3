/// The one timer of several waits, which is scheduled for the earliest of them. A value, accessed with its owner's lock
/// held; timers are scheduled and cancelled with no lock held.
///
/// ```swift
/// if state.withLock({ $0.timer.claims(time) }) {
///     let scheduled = clock.schedule(at: time) { … }        // calls `fired()` with the lock held
///     state.withLock { $0.timer.keep(scheduled, for: time) }?.cancel()
/// }
/// ```
package struct SharedTimer {
    private var timer: (any ScheduledWork)?
    /// The time for which the timer is scheduled, or is about to be.
    private var time = MonotonicTime.distantFuture

    package init() {}

    /// Returns whether a timer has to be scheduled for this time.
    package mutating func claims(_ time: MonotonicTime) -> Bool {
        guard time < self.time else { return false }
        self.time = time
        return true
    }

    /// Keeps a timer that was scheduled for a claimed time.
    ///
    /// - Returns: the timer to cancel: the one before, or this one if another thread has claimed an earlier time, or
    ///   ended all waits, in the meantime.
    package mutating func keep(_ scheduled: any ScheduledWork, for time: MonotonicTime) -> (any ScheduledWork)? {
        guard self.time == time else { return scheduled }
        defer { timer = scheduled }
        return timer
    }

    /// The timer has fired.
    package mutating func fired() { time = .distantFuture }

    /// No wait is left.
    ///
    /// - Returns: the timer to cancel.
    package mutating func end() -> (any ScheduledWork)? {
        time = .distantFuture
        return timer.take()
    }
}
