internal import CInflightConcurrency
internal import Glibc

/// A growable block of memory. Large blocks are mapped pages: they grow without copying and without a second block, and
/// freed pages return to the system at once.
// Unchecked: written by one owner at a time, and only beyond the bytes that others read.
@safe package final class MemoryBlock: @unchecked Sendable {
    private static let leastPagedBytes = 1 << 20

    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    private var isPaged: Bool

    package init(_ count: Int) {
        capacity = max(1, count)
        let pages = count >= Self.leastPagedBytes ? unsafe inflight_pages_resize(nil, 0, capacity) : nil
        isPaged = unsafe pages != nil
        // Unlike Swift's allocation of raw memory, this does not take the slow path for aligned memory.
        guard let memory = unsafe pages ?? malloc(capacity) else { fatalError("out of memory") }
        unsafe self.memory = memory
    }

    deinit {
        if isPaged { unsafe inflight_pages_free(memory, capacity) } else { unsafe free(memory) }
    }

    // The accesses of a private property need no check for exclusive access, as those of a package's property do.
    package var count: Int { capacity }

    /// Grows the block without copying. No other code may access the memory during the call.
    ///
    /// - Returns: Whether the block has grown.
    package func grow(to wanted: Int) -> Bool {
        guard isPaged, let larger = unsafe inflight_pages_resize(memory, capacity, wanted) else { return false }
        unsafe memory = larger
        capacity = wanted
        return true
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        precondition(offset >= 0 && bytes.count <= capacity - offset, "a write past the end of the block")
        guard let source = bytes.baseAddress else { return }
        unsafe memory.advanced(by: offset).copyMemory(from: source, byteCount: bytes.count)
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe body(UnsafeRawBufferPointer(start: memory, count: capacity))
    }
}
