/// The bytes of a body while they come: one copy off the wire, none when it is handed on.
///
/// Memory is taken for what has come, not for what was announced: a length that the server made up costs nothing.
@safe struct BodyBuffer: ~Copyable {
    /// The most that an announced length is believed before its bytes have come.
    private static let believedBytes = 1 << 20

    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0
    /// What frees the memory, where others look at its first part already.
    private var owner: SharedMemory?

    // Safe: the pointer is used only for being freed, by the last who has this.
    @safe private final class SharedMemory: Sendable {
        // Never changes; freed once.
        private nonisolated(unsafe) let memory: UnsafeMutableRawPointer

        init(_ memory: UnsafeMutableRawPointer) {
            unsafe self.memory = memory
        }

        deinit {
            unsafe memory.deallocate()
        }
    }

    init() {
        unsafe memory = nil
    }

    deinit {
        if owner == nil { unsafe memory?.deallocate() }
    }

    /// Makes room for a body of that length, as far as it is believed.
    mutating func expect(_ expected: Int64) {
        guard count == 0, expected > 0 else { return }
        grow(to: Int(min(expected, Int64(Self.believedBytes))))
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        let needed = count + bytes.count
        if needed > capacity { grow(to: max(needed, capacity * 2, 4096)) }
        if let memory = unsafe memory {
            unsafe memory.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
        }
        count = needed
    }

    /// Hands the bytes over and is empty afterwards.
    mutating func take() -> Bytes {
        guard let memory = unsafe memory, count > 0 else {
            reset()
            return .empty
        }
        if owner != nil {
            defer { reset() }
            return snapshot()
        }
        let bytes = unsafe Bytes(adopting: UnsafeRawBufferPointer(start: memory, count: count)) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
        }
        unsafe self.memory = nil
        capacity = 0
        count = 0
        return bytes
    }

    /// What has come so far, without copying it: bytes that are there are never written again.
    mutating func snapshot() -> Bytes {
        guard let memory = unsafe memory, count > 0 else { return .empty }
        let owner = unsafe owner ?? SharedMemory(memory)
        self.owner = owner
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: memory, count: count)) { _ in
            withExtendedLifetime(owner) {}
        }
    }

    /// A copy of what has come so far, from an offset on.
    func copy(from start: Int = 0) -> Bytes {
        let all = unsafe UnsafeRawBufferPointer(start: memory, count: count)
        return unsafe Bytes(copying: UnsafeRawBufferPointer(rebasing: all[min(start, count)...]))
    }

    mutating func reset() {
        letGo()
        unsafe memory = nil
        capacity = 0
        count = 0
    }

    private mutating func letGo() {
        if owner == nil { unsafe memory?.deallocate() }
        owner = nil
    }

    private mutating func grow(to wanted: Int) {
        let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        if let memory = unsafe memory {
            unsafe larger.copyMemory(from: memory, byteCount: count)
            letGo()
        }
        unsafe memory = larger
        capacity = wanted
    }
}
