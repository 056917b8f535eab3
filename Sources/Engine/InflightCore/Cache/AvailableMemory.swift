#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The memory that this process may use.
enum AvailableMemory {
    /// The machine's memory, or the limit of the control group if that is lower, in bytes. Determined once.
    static let bytes = min(physicalBytes, ControlGroup.current.memoryLimit ?? .max)

    /// The machine's memory in bytes; 1 GiB if the system does not report it.
    private static var physicalBytes: Int {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let size = sysconf(Int32(_SC_PAGESIZE))
        guard pages > 0, size > 0 else { return 1 << 30 }
        let product = pages.multipliedReportingOverflow(by: size)
        return product.overflow ? .max : product.partialValue
    }
}
