internal import CInflightWorker
package import InflightCore

/// Memory that two processes see: a descriptor, and where it is mapped here. Its size never changes.
// Safe: the memory is mapped for as long as the object lives.
@safe package final class SharedMemory: Sendable {
    /// Of more bytes than these, what a decoder reads is let go of after the request, on both sides.
    package static let mostKept = 4 << 20

    package let descriptor: Descriptor
    package let byteCount: Int
    // Who writes and when is agreed on between the processes: see `DecoderProcess` and `SharedPixels`.
    nonisolated(unsafe) package let base: UnsafeMutableRawPointer

    /// Makes memory, zeroed, and maps it for writing. `nil` where the system has none, or a limit is reached.
    ///
    /// - Parameter isFilled: all of it will be written.
    package init?(byteCount: Int, isFilled: Bool = false) {
        let number = inflight_shared_memory(byteCount)
        guard number >= 0 else { return nil }
        descriptor = Descriptor(number)
        guard let base = unsafe inflight_map(number, byteCount, isFilled ? inflight_filled : inflight_writable) else {
            return nil
        }
        self.byteCount = byteCount
        unsafe self.base = unsafe base
    }

    /// Maps what another process made, for reading.
    package init?(_ descriptor: Descriptor, byteCount: Int) {
        guard let base = unsafe inflight_map(descriptor.number, byteCount, inflight_read_only) else { return nil }
        self.descriptor = descriptor
        self.byteCount = byteCount
        unsafe self.base = unsafe base
    }

    deinit {
        unsafe inflight_unmap(base, byteCount)
    }

    /// What a stranger has sealed, mapped for reading: neither its size nor its bytes can change any more. `nil` where
    /// they could, or where there are fewer than `byteCount` of them.
    package static func sealed(_ descriptor: Descriptor, byteCount: Int) -> Bytes? {
        var size = 0
        guard byteCount > 0, unsafe inflight_is_sealed(descriptor.number, &size) != 0, size >= byteCount,
            let base = unsafe inflight_map(descriptor.number, byteCount, inflight_read_only)
        else { return nil }
        // Mapped, it needs its descriptor no longer, and programs have few of those.
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: base, count: byteCount)) { memory in
            guard let base = unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress) else { return }
            unsafe inflight_unmap(base, memory.count)
        }
    }

    /// The bytes at its start, for as long as anybody has them.
    package func bytes(_ count: Int) -> Bytes {
        precondition(count <= byteCount, "there are \(byteCount) bytes")
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: base, count: count)) { _ in
            withExtendedLifetime(self) {}
        }
    }
}
