internal import CInflightConcurrency

/// A growable block of memory. Large blocks are mapped pages: they grow without copying and without a second block, and
/// freed pages return to the system at once.
// Unchecked: written by one owner at a time, and only beyond the bytes that others read.
@safe package final class MemoryBlock: @unchecked Sendable {
    private static let leastPagedBytes = 1 << 20

    private var memory: UnsafeMutableRawPointer
    package private(set) var count: Int
    private var isPaged: Bool

    package init(_ count: Int) {
        self.count = max(1, count)
        let pages = count >= Self.leastPagedBytes ? unsafe inflight_pages_resize(nil, 0, self.count) : nil
        isPaged = unsafe pages != nil
        unsafe memory = pages ?? .allocate(byteCount: self.count, alignment: 16)
    }

    deinit {
        if isPaged { unsafe inflight_pages_free(memory, count) } else { unsafe memory.deallocate() }
    }

    /// Grows the block without copying. No other code may access the memory during the call.
    ///
    /// - Returns: Whether the block has grown.
    package func grow(to wanted: Int) -> Bool {
        guard isPaged, let larger = unsafe inflight_pages_resize(memory, count, wanted) else { return false }
        unsafe memory = larger
        count = wanted
        return true
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        precondition(offset >= 0 && bytes.count <= count - offset, "a write past the end of the block")
        guard let source = bytes.baseAddress else { return }
        unsafe memory.advanced(by: offset).copyMemory(from: source, byteCount: bytes.count)
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe body(UnsafeRawBufferPointer(start: memory, count: count))
    }
}
