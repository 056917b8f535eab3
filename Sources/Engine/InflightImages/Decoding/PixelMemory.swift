import Glibc

/// Memory for all pixels of an image, four bytes or fewer each. A failed allocation throws instead of trapping, because
/// the image determines the size, within the limit on pixels.
// Safe: the memory lives as long as the object.
@safe package final class PixelMemory: Sendable {
    // Written only by the decode that created it, until it is shared; read-only from then on.
    nonisolated(unsafe) package let bytes: UnsafeMutableRawBufferPointer
    private let allocator: (any PixelAllocating)?

    /// - Throws: ``LoadError/Code/tooManyPixels`` if the system cannot provide the memory.
    package init(width: Int, height: Int, bytesPerPixel: Int = 4) throws(LoadError) {
        let row = width.multipliedReportingOverflow(by: bytesPerPixel)
        let count = row.partialValue.multipliedReportingOverflow(by: height)
        allocator = PixelAllocation.current
        // Do not attempt larger allocations: no image within the limits needs them.
        guard !row.overflow, !count.overflow, count.partialValue <= ImageInfo.maximumPixels * 4,
            let memory = unsafe Self.allocate(count.partialValue, by: allocator)
        else { throw CodecError.outOfMemory }
        unsafe bytes = UnsafeMutableRawBufferPointer(start: memory, count: count.partialValue)
    }

    private static func allocate(_ count: Int, by allocator: (any PixelAllocating)?) -> UnsafeMutableRawPointer? {
        if let allocator { return unsafe allocator.allocate(byteCount: max(1, count)) }
        // Not aligned to cache lines: before 2.38, glibc's aligned allocation does not find again what it freed (its
        // bug 14581), so that memory grows with the number of images.
        return unsafe malloc(max(1, count))
    }

    deinit {
        guard let memory = unsafe bytes.baseAddress else { return }
        if let allocator {
            unsafe allocator.deallocate(memory, byteCount: max(1, bytes.count))
        } else {
            unsafe free(memory)
        }
    }

    /// The same memory as `Bytes`, which retain this object.
    package var shared: Bytes {
        unsafe Bytes(adopting: UnsafeRawBufferPointer(bytes)) { _ in withExtendedLifetime(self) {} }
    }
}
