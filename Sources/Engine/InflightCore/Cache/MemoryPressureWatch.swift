internal import InflightConcurrency

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A thread that waits for triggers to report until it is stopped.
final class MemoryPressureWatch: Sendable {
    private let stopDescriptor: Int32
    private let thread = WorkerThreads(count: 1, name: "inflight-memory")

    /// Returns nil if there is nothing to watch, or no file descriptor is left.
    init?(triggers: [MemoryPressureTriggers.Trigger], report: @escaping @Sendable (MemoryPressure) -> Void) {
        guard !triggers.isEmpty else { return nil }
        var ends: [Int32] = [-1, -1]
        #if os(Linux)
            #if canImport(Glibc)
                let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            #else
                let kind = SOCK_STREAM | SOCK_CLOEXEC
            #endif
            let status = unsafe socketpair(AF_UNIX, kind, 0, &ends)
        #else
            let status = unsafe pipe(&ends)
        #endif
        guard status == 0 else {
            for trigger in triggers { close(trigger.descriptor) }
            return nil
        }
        stopDescriptor = ends[1]
        thread.run { [end = ends[0]] in Self.watch(triggers, end, report) }
    }

    /// Makes the thread end soon. Must be called once.
    func stop() {
        close(stopDescriptor)
    }

    /// Reports what happens to the triggers until the other end of `stopDescriptor` is closed. Closes all of them.
    private static func watch(
        _ triggers: [MemoryPressureTriggers.Trigger], _ stopDescriptor: Int32, _ report: (MemoryPressure) -> Void
    ) {
        defer { for descriptor in triggers.map(\.descriptor) + [stopDescriptor] { close(descriptor) } }
        // The thread must not run the program's signal handlers.
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
        var polled = triggers.map { pollfd(fd: $0.descriptor, events: Int16(POLLPRI), revents: 0) }
        polled.append(pollfd(fd: stopDescriptor, events: Int16(POLLIN), revents: 0))
        while true {
            let count = unsafe poll(&polled, nfds_t(polled.count), -1)
            if count < 0 {
                if errno == EINTR { continue }
                return
            }
            // Closing the other end signals the stop.
            if polled[triggers.count].revents != 0 { return }
            for (position, trigger) in triggers.enumerated() {
                let events = Int32(polled[position].revents)
                if events & (POLLERR | POLLHUP | POLLNVAL) != 0 {
                    // The control group is gone. `poll` ignores a negative descriptor.
                    polled[position].fd = -1
                } else if events & POLLPRI != 0 {
                    report(trigger.pressure)
                }
            }
        }
    }
}

/// Descriptors through which Linux reports memory pressure.
///
/// Source: the kernel's `Documentation/accounting/psi.rst`.
enum MemoryPressureTriggers {
    struct Trigger: Sendable {
        var descriptor: Int32
        var pressure: MemoryPressure
    }

    /// Opens those of the control group, or of the machine if that is not possible. Empty if the kernel has none.
    static func openAll() -> [Trigger] {
        #if os(Linux)
            for path in [ControlGroup.current.pressureFile, "/proc/pressure/memory"].compactMap(\.self) {
                // In microseconds. Without privileges the window has to be a multiple of two seconds.
                let triggers = [
                    arm(path, "some 200000 2000000", .some), arm(path, "full 100000 2000000", .full),
                ]
                let opened = triggers.compactMap(\.self)
                if !opened.isEmpty { return opened }
            }
        #endif
        return []
    }

    #if os(Linux)
        private static func arm(_ path: String, _ condition: String, _ pressure: MemoryPressure) -> Trigger? {
            let descriptor = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            // The kernel expects the terminating zero too.
            let bytes = Array(condition.utf8CString)
            guard unsafe write(descriptor, bytes, bytes.count) >= 0 else {
                close(descriptor)
                return nil
            }
            return Trigger(descriptor: descriptor, pressure: pressure)
        }
    #endif
}
