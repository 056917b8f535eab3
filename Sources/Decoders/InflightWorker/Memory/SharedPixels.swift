internal import CInflightWorker
internal import Glibc
import InflightConcurrency
package import InflightCore

/// Allocates memory for pixels, and passes results to another process: small ones as a copy in one piece of memory that
/// is used again and again, large ones in the piece in which they were allocated (``SharedMemory/outputBytes``).
package final class SharedPixels: PixelAllocating {
    // The shared memory by the address of its mapping.
    private let pieces = Guarded([UInt: SharedMemory]())
    private let output = Guarded<SharedMemory?>(nil)

    package init() {}

    package func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        guard byteCount > SharedMemory.outputBytes else { return unsafe malloc(byteCount) }
        guard let piece = SharedMemory(byteCount: byteCount, isFilled: true) else { return nil }
        let base = unsafe piece.base
        pieces.withLock { $0[UInt(bitPattern: base)] = piece }
        return unsafe base
    }

    package func deallocate(_ memory: UnsafeMutableRawPointer, byteCount: Int) {
        if byteCount <= SharedMemory.outputBytes { return unsafe free(memory) }
        let address = UInt(bitPattern: memory)
        _ = pieces.withLock { $0.removeValue(forKey: address) }
    }

    /// Passes bytes to another process. They must not be used here afterwards.
    ///
    /// - Returns: The descriptor of their memory, unless the process has it already.
    /// - Throws: ``LoadError/Code/tooManyPixels`` if there is no memory.
    package func pass(_ bytes: consuming Bytes) throws(LoadError) -> Descriptor? {
        guard bytes.count <= SharedMemory.outputBytes else {
            guard let sealed = seal(bytes) else { throw CodecError.outOfMemory }
            return sealed
        }
        let known = output.withLock { $0 }
        guard let memory = known ?? SharedMemory(byteCount: SharedMemory.outputBytes) else {
            throw CodecError.outOfMemory
        }
        unsafe bytes.withUnsafeBytes { unsafe memory.base.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
        if known != nil { return nil }
        output.withLock { $0 = memory }
        return memory.descriptor
    }

    /// Returns a sealed descriptor of these bytes for another process. They must not be used here afterwards.
    ///
    /// The bytes are not copied if they start a piece allocated here. Returns `nil` if there is no memory for a copy.
    package func seal(_ bytes: consuming Bytes) -> Descriptor? {
        let address = unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        let count = bytes.count
        var piece = pieces.withLock { $0.removeValue(forKey: address) }
        if piece == nil {
            piece = SharedMemory(byteCount: count, isFilled: true)
            guard let copy = piece else { return nil }
            unsafe bytes.withUnsafeBytes { unsafe copy.base.copyMemory(from: $0.baseAddress!, byteCount: count) }
        }
        guard let descriptor = piece.take()?.descriptor else { return nil }
        // Memory that is mapped for writing cannot be sealed, so the piece was released above.
        return inflight_seal(descriptor.number) == 0 ? descriptor : nil
    }
}
