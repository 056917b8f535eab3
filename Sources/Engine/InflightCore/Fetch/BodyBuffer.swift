internal import InflightConcurrency

/// The bytes of a body while they come: one copy off the wire, none when it is handed on.
///
/// Memory is taken for what has come, not for what was announced: a length that the server made up costs nothing. Where
/// that is more than there is room for, ``spill(to:)`` moves it to a file.
@safe struct BodyBuffer: ~Copyable {
    /// The most that an announced length is believed before its bytes have come.
    private static let believedBytes = 1 << 20

    private var memory: MemoryBlock?
    /// How many of the bytes are in memory.
    private(set) var memoryCount = 0
    /// Whether others look at the memory already: it is never moved then.
    private var isShared = false
    private var file: SpillFile?
    private var fileCount = 0
    /// The whole, where it is in a file and no more comes.
    private var sealed: Bytes?

    init() {}

    var count: Int { fileCount + memoryCount }

    var hasSpilled: Bool { file != nil }

    /// Makes room for a body of that length, as far as it is believed.
    mutating func expect(_ expected: Int64) {
        guard count == 0, expected > 0 else { return }
        grow(to: Int(min(expected, Int64(Self.believedBytes))))
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0 else { return }
        sealed = nil
        let needed = memoryCount + bytes.count
        let capacity = memory?.count ?? 0
        if needed > capacity { grow(to: max(needed, capacity * 2, 4096)) }
        unsafe memory?.write(bytes, at: memoryCount)
        memoryCount = needed
    }

    /// Hands the bytes over and is empty afterwards.
    mutating func take() -> Bytes {
        defer { reset() }
        if file != nil {
            try? seal()
            return sealed ?? .empty
        }
        return snapshot()
    }

    /// What has come so far, without copying it: bytes that are there are never written again. Nothing where they are in a
    /// file.
    mutating func snapshot() -> Bytes {
        guard let memory, memoryCount > 0, file == nil else { return .empty }
        isShared = true
        return memory.bytes(memoryCount)
    }

    /// A copy of what has come so far, from an offset on; where the file cannot be read, of what precedes the failure.
    func copy(from start: Int = 0) -> Bytes {
        let start = min(start, count)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count - start), alignment: 16)
        var filled = 0
        if let file, start < fileCount {
            filled = unsafe file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: room[..<(fileCount - start)]), at: start)
        }
        if let memory, memoryCount > 0, filled == max(0, fileCount - start) {
            let tail = max(0, start - fileCount)
            unsafe memory.bytes(memoryCount).withUnsafeBytes { bytes in
                unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[tail...]))
            }
            filled += memoryCount - tail
        }
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: room[..<filled])) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
        }
    }

    mutating func reset() {
        memory = nil
        memoryCount = 0
        isShared = false
        file = nil
        fileCount = 0
        sealed = nil
    }

    // MARK: In a file

    /// Moves what is in memory to a temporary file, which follows what is there already.
    ///
    /// - Parameter folder: the folder of the file; if `nil`, the system's.
    mutating func spill(to folder: String?) throws(PosixError) {
        guard memoryCount > 0 else { return }
        let file = if let file { file } else { try SpillFile(in: folder) }
        if let memory { try file.write(memory.bytes(memoryCount), at: fileCount) }
        self.file = file
        fileCount += memoryCount
        memory = nil
        memoryCount = 0
        isShared = false
    }

    /// No more bytes come: makes the body whole where it is in a file. ``take()`` does not fail after that.
    mutating func seal() throws(PosixError) {
        guard let file, sealed == nil else { return }
        try spill(to: nil)
        sealed = try file.mapped(fileCount)
    }

    private mutating func grow(to wanted: Int) {
        if !isShared, let memory, memory.grow(to: wanted) { return }
        let larger = MemoryBlock(wanted)
        if let memory, memoryCount > 0 {
            unsafe memory.bytes(memoryCount).withUnsafeBytes { unsafe larger.write($0, at: 0) }
        }
        memory = larger
        isShared = false
    }
}

extension MemoryBlock {
    /// The first `count` bytes, which keep the memory.
    fileprivate func bytes(_ count: Int) -> Bytes {
        unsafe withUnsafeBytes { bytes in
            unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: bytes[..<count])) { [self] _ in
                withExtendedLifetime(self) {}
            }
        }
    }
}
