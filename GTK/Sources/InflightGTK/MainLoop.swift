internal import CInflightGTK

/// One thread for three loops: GLib's, which GTK runs, serves the main queue and the main actor too.
///
/// GTK's `g_application_run` keeps the main thread until the program ends. Without more nothing that is handed to the main
/// queue would run by then, and no `@MainActor` code either. With ``attach()`` the loop waits for the main queue as it waits
/// for the display: by a descriptor that becomes readable, so an idle program sleeps. The other way round nothing is
/// needed: signal handlers run on the main thread, where `MainActor.assumeIsolated` holds.
///
/// - Order: what is handed to the main queue runs in that order, between events and frames. A handler that runs a loop of
///   its own (`g_main_context_iteration`) inside of such a closure is served no more of them until it returns: the main
///   queue is serial.
public enum MainLoop {
    /// Has GLib's default main context serve the main queue. Once is enough, and the first ``RemoteImage`` does it.
    @MainActor public static func attach() {
        inflight_main_queue_attach()
    }

    /// How often the loop has served the main queue so far.
    @MainActor public static var servedCount: UInt64 { UInt64(inflight_main_queue_served()) }

    /// What was done on the main thread.
    public struct Work: Hashable, Sendable {
        /// By the clock: what a frame had to wait for.
        public var elapsed: Duration
        /// Of the processor: without what other threads had of it in between.
        public var processor: Duration
    }

    /// Whether ``takeWork()`` has something to tell. Off, as nothing is paid for what nobody reads; on it costs four readings
    /// of a clock for each thing that is done.
    @MainActor public static var countsWork = false {
        didSet { inflight_work_count(countsWork ? 1 : 0) }
    }

    /// What the remote images and the main queue did on the main thread since this was called last: binding, looking at
    /// what is seen, delivering, drawing into GTK's snapshot. Not what GTK makes of it, layout and rendering. Called once in
    /// each frame it says what share of the frame was theirs.
    @MainActor public static func takeWork() -> Work {
        let work = inflight_work_take()
        return Work(elapsed: .nanoseconds(work.elapsed), processor: .nanoseconds(work.processor))
    }

    /// Does something that counts as work.
    @MainActor static func counted<Result>(_ body: () -> Result) -> Result {
        inflight_work_begin()
        defer { inflight_work_end() }
        return body()
    }
}
