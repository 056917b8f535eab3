#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

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
                    open(path, "some 200000 2000000", .some), open(path, "full 100000 2000000", .full),
                ]
                let opened = triggers.compactMap(\.self)
                if !opened.isEmpty { return opened }
            }
        #endif
        return []
    }

    #if os(Linux)
        private static func open(_ path: String, _ condition: String, _ pressure: MemoryPressure) -> Trigger? {
            #if canImport(Glibc)
                let descriptor = unsafe Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            #else
                let descriptor = unsafe Musl.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            #endif
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
