internal import CInflightWorker
package import InflightCore

/// Memory shared by two processes: a descriptor and its mapping in this process. Its size never changes.
// Safe: the memory is mapped for the lifetime of the object.
@safe package final class SharedMemory: Sendable {
    /// The size in bytes above which both sides release the decoder's input after the request.
    package static let maximumRetainedBytes = 4 << 20
    /// The size in bytes of a decoder's output. Results up to this size are copied from it, because mapping new memory
    /// for each takes longer. Larger ones have sealed memory of their own, which the program maps, so that a program
    /// which retains 10⁹ bytes of pixels has at most about 1,000 mappings. Linux allows 65,530.
    package static let outputBytes = 1 << 20

    package let descriptor: Descriptor
    package let byteCount: Int
    // The processes agree on when each may write: see `DecoderProcess` and `SharedPixels`.
    nonisolated(unsafe) package let base: UnsafeMutableRawPointer

    /// Creates zeroed memory and maps it for writing, or returns `nil` if the system has none or a limit is reached.
    ///
    /// - Parameter isFilled: whether all of it will be written.
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

    /// Maps memory that another process created, for reading.
    package init?(_ descriptor: Descriptor, byteCount: Int) {
        guard let base = unsafe inflight_map(descriptor.number, byteCount, inflight_read_only) else { return nil }
        self.descriptor = descriptor
        self.byteCount = byteCount
        unsafe self.base = unsafe base
    }

    deinit {
        unsafe inflight_unmap(base, byteCount)
    }

    /// Maps the output of an untrusted decoder, or returns `nil` if its size is wrong or can change. Its bytes can.
    package static func output(_ descriptor: Descriptor) -> SharedMemory? {
        guard inflight_fixed_size(descriptor.number, 0) == outputBytes else { return nil }
        return SharedMemory(descriptor, byteCount: outputBytes)
    }

    /// Maps memory that an untrusted process has sealed, for reading. Neither its size nor its bytes can change any
    /// more. Returns `nil` if the memory is not sealed or has fewer than `byteCount` bytes.
    package static func sealed(_ descriptor: Descriptor, byteCount: Int) -> Bytes? {
        guard byteCount > 0, inflight_fixed_size(descriptor.number, 1) >= byteCount,
            let base = unsafe inflight_map(descriptor.number, byteCount, inflight_read_only)
        else { return nil }
        // The mapping does not need the descriptor, and a process may have only few of those.
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: base, count: byteCount)) { memory in
            guard let base = unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress) else { return }
            unsafe inflight_unmap(base, memory.count)
        }
    }

    /// Returns the first `count` bytes, which retain the memory.
    package func bytes(_ count: Int) -> Bytes {
        precondition(count <= byteCount, "\(count) bytes exceed the \(byteCount) bytes of the shared memory")
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: base, count: count)) { _ in
            withExtendedLifetime(self) {}
        }
    }
}
