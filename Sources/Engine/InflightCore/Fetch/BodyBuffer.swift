internal import InflightConcurrency

/// A buffer for a body as it is received. Bytes are copied once, from the transport, and not when they are taken.
///
/// Memory is allocated for received bytes, not for the announced length, so a false length costs nothing. If the body
/// exceeds the memory limit, ``spill(to:)`` moves it to a file.
///
/// For one thread at a time.
// A class, although it has one owner: accesses to a value inside an object are checked for conflicts at run time if any
// of its methods changes it, which here would be several times for each piece of a body.
final class BodyBuffer {
    /// The maximum number of bytes to allocate in advance for an announced length.
    private static let believedBytes = 1 << 20

    private var memory: MemoryBlock?
    /// The number of bytes in memory.
    private(set) var memoryCount = 0
    /// Whether a snapshot refers to the memory, which is then never moved.
    private var isShared = false
    private var file: SpillFile?
    private var fileCount = 0
    /// The complete body, if it was in a file and is sealed.
    private var sealed: Bytes?

    init() {}

    var count: Int { fileCount + memoryCount }

    var hasSpilled: Bool { file != nil }

    /// Reserves memory for a body of the announced length, up to a limit.
    func expect(_ expected: Int64) {
        guard count == 0, expected > 0 else { return }
        grow(to: Int(min(expected, Int64(Self.believedBytes))))
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0 else { return }
        sealed = nil
        let needed = memoryCount + bytes.count
        let capacity = memory?.count ?? 0
        if needed > capacity { grow(to: max(needed, capacity * 2, 4096)) }
        unsafe memory?.write(bytes, at: memoryCount)
        memoryCount = needed
    }

    /// Returns the bytes, and resets the buffer.
    func take() -> Bytes {
        defer { reset() }
        if file != nil {
            try? seal()
            return sealed ?? .empty
        }
        return snapshot()
    }

    /// Returns the bytes received so far without copying them, since bytes in memory are never overwritten. Empty if
    /// the body is in a file.
    func snapshot() -> Bytes {
        guard let memory, memoryCount > 0, file == nil else { return .empty }
        isShared = true
        return memory.bytes(memoryCount)
    }

    /// Returns a copy of the received bytes from an offset on. If the file cannot be read, ends before the failure.
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

    func reset() {
        memory = nil
        memoryCount = 0
        isShared = false
        file = nil
        fileCount = 0
        sealed = nil
    }

    // MARK: Spilling

    /// Moves the bytes in memory to a temporary file, after those already there.
    ///
    /// - Parameters:
    ///   - folder: the folder of the file; if `nil`, the system's.
    ///   - isDownload: whether the file may get a name in that folder.
    func spill(to folder: String?, isDownload: Bool = false) throws(PosixError) {
        guard memoryCount > 0 else { return }
        let file =
            if let file { file } else if isDownload, let folder { try SpillFile(forDownloadsTo: folder) } else {
                try SpillFile(in: folder)
            }
        if let memory { try file.write(memory.bytes(memoryCount), at: fileCount) }
        self.file = file
        fileCount += memoryCount
        memory = nil
        memoryCount = 0
        isShared = false
    }

    /// Completes a body that is in a file and reads it back into memory; no more bytes may follow. After that,
    /// ``take()`` does not fail.
    func seal() throws(PosixError) {
        guard let file, sealed == nil else { return }
        try spill(to: nil)
        sealed = try file.bytes(fileCount)
    }

    /// Returns the complete body in its file, and resets the buffer. Nil if it is in memory.
    ///
    /// - Parameter isShared: whether several loads get it.
    func takeFile(isShared: Bool) throws(PosixError) -> BodyFile? {
        guard let file else { return nil }
        try spill(to: nil)
        defer { reset() }
        return BodyFile(file: file, count: fileCount, isShared: isShared)
    }

    private func grow(to wanted: Int) {
        if !isShared, let memory, memory.grow(to: wanted) { return }
        let larger = MemoryBlock(wanted)
        if let memory, memoryCount > 0 {
            unsafe memory.bytes(memoryCount).withUnsafeBytes { unsafe larger.write($0, at: 0) }
        }
        memory = larger
        isShared = false
    }
}

/// A complete body in a file.
struct BodyFile: Sendable {
    let file: SpillFile
    /// The number of its bytes.
    let count: Int
    /// Whether several loads get it, so that each needs a copy.
    let isShared: Bool
}

extension MemoryBlock {
    /// Returns the first `count` bytes, which retain the memory.
    fileprivate func bytes(_ count: Int) -> Bytes {
        unsafe withUnsafeBytes { bytes in
            unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: bytes[..<count])) { [self] _ in
                withExtendedLifetime(self) {}
            }
        }
    }
}
