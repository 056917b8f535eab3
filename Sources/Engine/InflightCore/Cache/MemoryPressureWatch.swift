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

    /// Returns nil if there is nothing to watch, or no thread can be started.
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
        let loop = MemoryPressureLoop(triggers: triggers, stopDescriptor: ends[0], report: report)
        guard Self.startThread(loop) else {
            loop.closeAll()
            close(ends[1])
            return nil
        }
        stopDescriptor = ends[1]
    }

    /// Makes the thread end soon. Must be called once.
    func stop() {
        close(stopDescriptor)
    }

    private static func startThread(_ loop: MemoryPressureLoop) -> Bool {
        // The thread must not run the program's signal handlers: it starts with every signal blocked.
        var (all, before) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let context = unsafe Unmanaged.passRetained(loop)
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let status = unsafe pthread_create(&thread, &attributes, runMemoryPressureLoop, context.toOpaque())
        if status != 0 { unsafe context.release() }
        return status == 0
    }
}

#if canImport(Darwin)
    private func runMemoryPressureLoop(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        unsafe Unmanaged<MemoryPressureLoop>.fromOpaque(context).takeRetainedValue().run()
        return nil
    }
#else
    private func runMemoryPressureLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context = unsafe context {
            unsafe Unmanaged<MemoryPressureLoop>.fromOpaque(context).takeRetainedValue().run()
        }
        return nil
    }
#endif

/// The loop of the thread, and the descriptors that it closes when it ends.
private final class MemoryPressureLoop: Sendable {
    private let triggers: [MemoryPressureTriggers.Trigger]
    private let stopDescriptor: Int32
    private let report: @Sendable (MemoryPressure) -> Void

    init(
        triggers: [MemoryPressureTriggers.Trigger], stopDescriptor: Int32,
        report: @escaping @Sendable (MemoryPressure) -> Void
    ) {
        self.triggers = triggers
        self.stopDescriptor = stopDescriptor
        self.report = report
    }

    func run() {
        defer { closeAll() }
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

    func closeAll() {
        for trigger in triggers { close(trigger.descriptor) }
        close(stopDescriptor)
    }
}
