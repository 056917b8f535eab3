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

    /// - Throws: ``LoadError/Code/tooManyPixels`` where the system has no such memory.
    package init(width: Int, height: Int, bytesPerPixel: Int = 4) throws(LoadError) {
        let row = width.multipliedReportingOverflow(by: bytesPerPixel)
        let count = row.partialValue.multipliedReportingOverflow(by: height)
        var memory: UnsafeMutableRawPointer?
        // Not worth asking for: no picture that is let pass has as much. Aligned to lines of the cache.
        guard !row.overflow, !count.overflow, count.partialValue <= ImageInfo.mostPixels * 4,
            unsafe posix_memalign(&memory, 64, max(1, count.partialValue)) == 0
        else { throw PictureError.noMemory }
        unsafe bytes = UnsafeMutableRawBufferPointer(start: memory, count: count.partialValue)
    }

    deinit {
        unsafe free(bytes.baseAddress)
    }

    /// The same memory, kept alive by whoever holds this.
    package var shared: Bytes {
        unsafe Bytes(adopting: UnsafeRawBufferPointer(bytes)) { _ in withExtendedLifetime(self) {} }
    }
}
