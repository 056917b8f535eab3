#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The memory that this process may use.
enum AvailableMemory {
    /// The machine's, or the limit of the control group where that is less, in bytes. Found out once.
    static let bytes = min(physicalBytes, ControlGroup.current.memoryLimit ?? .max)

    /// 1 GiB where the system does not tell.
    private static var physicalBytes: Int {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        let size = sysconf(Int32(_SC_PAGESIZE))
        guard pages > 0, size > 0 else { return 1 << 30 }
        let product = pages.multipliedReportingOverflow(by: size)
        return product.overflow ? .max : product.partialValue
    }
}
