internal import CInflightConcurrency
internal import Glibc

/// A thread with a known end: `join()` returns when its body has returned.
///
/// It blocks all signals, so that a program's handlers run on the threads that the program expects.
package final class JoinableThread: Sendable {
    private let handle: pthread_t

    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Starts the thread.
    package init(name: String, _ run: @escaping @Sendable () -> Void) {
        let body = Body {
            unsafe inflight_name_thread(name)
            run()
        }
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, nil,
            { context in
                unsafe Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, unsafe Unmanaged.passRetained(body).toOpaque())
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        precondition(status == 0, "pthread_create failed with status \(status)")
        handle = thread
    }

    /// Whether the caller runs on this thread.
    var isCurrent: Bool { pthread_equal(handle, pthread_self()) != 0 }

    /// Returns the clock of the calling thread's processor time, which every thread may read.
    static func currentClock() -> clockid_t {
        var clock = clockid_t()
        let status = unsafe pthread_getcpuclockid(pthread_self(), &clock)
        precondition(status == 0, "pthread_getcpuclockid failed with status \(status)")
        return clock
    }

    /// Returns the processor time that a thread has used, or nil once it has ended.
    static func time(of clock: clockid_t) -> Duration? {
        var time = timespec()
        guard unsafe clock_gettime(clock, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Waits for the end. Must be called once, and never on the thread itself.
    package func join() {
        pthread_join(handle, nil)
    }

    /// Lets the thread end by itself, instead of `join()`.
    package func detach() {
        pthread_detach(handle)
    }
}
