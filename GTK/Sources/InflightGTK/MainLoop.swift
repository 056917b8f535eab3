internal import CInflightGTK

/// The connection that lets GLib's main loop, which GTK runs, serve the main queue and the main actor.
///
/// GTK's `g_application_run` occupies the main thread until the program ends. By itself it would run nothing that is
/// submitted to the main queue in that time, and no `@MainActor` code. After ``attach()``, the loop waits for the main
/// queue as it waits for the display, on a descriptor that becomes readable, so an idle program sleeps. The other
/// direction needs no setup. Signal handlers run on the main thread, where `MainActor.assumeIsolated` holds.
///
/// - Order: work submitted to the main queue runs in that order, between events and frames. The main queue is serial.
///   While work on it runs a loop of its own (`g_main_context_iteration`), no other work is served until it returns.
public enum MainLoop {
    /// Makes GLib's default main context serve the main queue. One call is enough. The first ``RemoteImage`` does it.
    @MainActor public static func attach() {
        inflight_main_queue_attach()
    }

    /// The number of times that the loop has served the main queue.
    @MainActor public static var servedCount: UInt64 { UInt64(inflight_main_queue_served()) }

    /// The time spent on the main thread.
    public struct Work: Hashable, Sendable {
        /// The elapsed time, which is how long a frame had to wait.
        public var elapsed: Duration
        /// The CPU time, without the time that other threads ran in between.
        public var processor: Duration
    }

    /// Whether work is measured for ``takeWork()``. By default it is not, and costs nothing. Measuring costs four clock
    /// readings for each piece of work.
    @MainActor public static var countsWork = false {
        didSet { inflight_work_count(countsWork ? 1 : 0) }
    }

    /// Returns the time that remote images and the main queue used on the main thread since the last call. It covers
    /// binding, visibility checks, delivery and drawing into GTK's snapshot, but not GTK's own layout and rendering.
    /// If called once in each frame, it gives their share of the frame.
    @MainActor public static func takeWork() -> Work {
        let work = inflight_work_take()
        return Work(elapsed: .nanoseconds(work.elapsed), processor: .nanoseconds(work.processor))
    }

    /// Runs `body` and counts it as work.
    @MainActor static func counted<Result>(_ body: () -> Result) -> Result {
        inflight_work_begin()
        defer { inflight_work_end() }
        return body()
    }
}
