#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Reads files in which the kernel publishes information.
enum SystemFile {
    /// Returns the text of the file at `path`, at most `limit` bytes, or nil if it cannot be read.
    static func read(_ path: String, limit: Int) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while text.count < limit {
            let wanted = min(chunk.count, limit - text.count)
            let count = unsafe pread(descriptor, &chunk, wanted, off_t(text.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            text += chunk[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }
}

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
