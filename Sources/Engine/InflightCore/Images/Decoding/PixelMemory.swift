#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory for all pixels of a picture, four bytes or fewer each. That there is none is an error here, not the end of the
/// program: how much is asked for is the picture's word, within the limit on pixels.
// Safe: the memory lives as long as the object.
@safe package final class PixelMemory: Sendable {
    // Written by the decoding that made it alone, until it is shared; read only from then on.
    nonisolated(unsafe) package let bytes: UnsafeMutableRawBufferPointer
    private let allocator: (any PixelAllocating)?

    /// - Throws: ``LoadError/Code/tooManyPixels`` where the system has no such memory.
    package init(width: Int, height: Int, bytesPerPixel: Int = 4) throws(LoadError) {
        let row = width.multipliedReportingOverflow(by: bytesPerPixel)
        let count = row.partialValue.multipliedReportingOverflow(by: height)
        allocator = PixelAllocation.current
        // Not worth asking for: no picture that is let pass has as much.
        guard !row.overflow, !count.overflow, count.partialValue <= ImageInfo.mostPixels * 4,
            let memory = unsafe Self.allocate(count.partialValue, by: allocator)
        else { throw PictureError.noMemory }
        unsafe bytes = UnsafeMutableRawBufferPointer(start: memory, count: count.partialValue)
    }

    private static func allocate(_ count: Int, by allocator: (any PixelAllocating)?) -> UnsafeMutableRawPointer? {
        if let allocator { return unsafe allocator.allocate(byteCount: max(1, count)) }
        var memory: UnsafeMutableRawPointer?
        // Aligned to lines of the cache.
        return unsafe posix_memalign(&memory, 64, max(1, count)) == 0 ? memory : nil
    }

    deinit {
        guard let memory = unsafe bytes.baseAddress else { return }
        if let allocator {
            unsafe allocator.deallocate(memory, byteCount: max(1, bytes.count))
        } else {
            unsafe free(memory)
        }
    }

    /// The same memory, kept alive by whoever holds this.
    package var shared: Bytes {
        unsafe Bytes(adopting: UnsafeRawBufferPointer(bytes)) { _ in withExtendedLifetime(self) {} }
    }
}
