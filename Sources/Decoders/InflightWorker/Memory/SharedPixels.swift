internal import CInflightWorker
internal import Glibc
import InflightConcurrency
package import InflightCore

/// Memory for pixels that can be handed to another process without a copy.
///
/// Pieces below ``DecoderReply/leastShared`` are of the heap: they are sent as they are.
package final class SharedPixels: PixelAllocating {
    // Its memory by where that is mapped.
    private let pieces = Guarded([UInt: SharedMemory]())

    package init() {}

    package func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        guard byteCount >= DecoderReply.leastShared else {
            var memory: UnsafeMutableRawPointer?
            return unsafe posix_memalign(&memory, 64, byteCount) == 0 ? memory : nil
        }
        guard let piece = SharedMemory(byteCount: byteCount, isFilled: true) else { return nil }
        let base = unsafe piece.base
        pieces.withLock { $0[UInt(bitPattern: base)] = piece }
        return unsafe base
    }

    package func deallocate(_ memory: UnsafeMutableRawPointer, byteCount: Int) {
        if byteCount < DecoderReply.leastShared { return unsafe free(memory) }
        let address = UInt(bitPattern: memory)
        _ = pieces.withLock { $0.removeValue(forKey: address) }
    }

    /// A descriptor of these bytes for another process, sealed: they are gone from here, whoever still has them.
    ///
    /// Without a copy where they begin a piece that was allocated here. `nil` where there is no memory for one.
    package func handOver(_ bytes: consuming Bytes) -> Descriptor? {
        let address = unsafe bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        let count = bytes.count
        var piece = pieces.withLock { $0.removeValue(forKey: address) }
        if piece == nil {
            piece = SharedMemory(byteCount: count, isFilled: true)
            guard let copy = piece else { return nil }
            unsafe bytes.withUnsafeBytes { unsafe copy.base.copyMemory(from: $0.baseAddress!, byteCount: count) }
        }
        guard let descriptor = piece.take()?.descriptor else { return nil }
        // What is mapped for writing cannot be sealed: the piece was let go of above.
        return inflight_seal(descriptor.number) == 0 ? descriptor : nil
    }
}
