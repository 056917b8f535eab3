internal import Glibc

/// An immutable sequence of bytes that owns its memory, of whatever kind.
///
/// Copying a `Bytes` copies a reference. It may be read from any thread. Two values are equal if their bytes are, which
/// takes linear time to compare unless one is a copy of the other.
public struct Bytes: Sendable {
    @usableFromInline let storage: ByteStorage

    /// Creates bytes that take ownership of `memory`, without copying it.
    ///
    /// - Parameters:
    ///   - memory: the memory, which must not change or become invalid before `release` is called.
    ///   - release: called once with `memory`, on the thread that releases the last copy or part.
    public init(
        adopting memory: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) {
        unsafe storage = ByteStorage(memory: memory, release: release)
    }

    /// Creates a copy of `bytes`, in memory of its own.
    public init(copying bytes: UnsafeRawBufferPointer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 16)
        if bytes.count > 0 { unsafe copy.copyMemory(from: bytes) }
        unsafe self.init(adopting: UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
        }
    }

    /// Creates a copy of an array's bytes.
    public init(_ bytes: [UInt8]) {
        self = unsafe bytes.withUnsafeBytes { unsafe Bytes(copying: $0) }
    }

    /// Creates the UTF-8 bytes of a string.
    public init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// A sequence without bytes.
    public static let empty = Bytes([])

    /// The number of bytes.
    @inlinable public var count: Int { unsafe storage.memory.count }
    /// Whether there are no bytes.
    public var isEmpty: Bool { count == 0 }

    /// Calls `body` with the bytes, which are valid only during the call, and returns its result. Copies nothing.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The reference retains the memory until the call has returned.
        let storage = storage
        defer { extendLifetime(storage) }
        return try unsafe body(storage.memory)
    }

    /// The byte at `position`, which must be in `0 ..< count`; traps otherwise.
    @inlinable
    public subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < count, "position \(position) is outside 0 ..< \(count)")
        return unsafe storage.memory[position]
    }

    /// Returns a part of these bytes, without copying it. It retains the memory of all of them.
    ///
    /// - Precondition: `range` lies within `0 ..< count`.
    public func part(_ range: Range<Int>) -> Bytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "\(range) is outside 0 ..< \(count)")
        if range == 0..<count { return self }
        let whole = storage
        // The closure retains the memory for as long as the part exists.
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: whole.memory[range])) { _ in
            withExtendedLifetime(whole) {}
        }
    }

    /// A copy of all bytes as an array, made at each access.
    public var array: [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }
}

extension Bytes: Hashable {
    public func hash(into hasher: inout Hasher) {
        unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }

    public static func == (left: Bytes, right: Bytes) -> Bool {
        if left.storage === right.storage { return true }
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBytes { l in
            unsafe right.withUnsafeBytes { r in
                guard let first = l.baseAddress, let second = r.baseAddress else { return true }
                return unsafe memcmp(first, second, l.count) == 0
            }
        }
    }
}

extension Bytes: CustomStringConvertible {
    public var description: String { "\(count) bytes" }
}

// Safe: the memory is accessible only through `Bytes`, for the length of a call.
@safe @usableFromInline
final class ByteStorage: Sendable {
    // The memory is never written again, and `deinit` calls `release` once.
    @usableFromInline nonisolated(unsafe) let memory: UnsafeRawBufferPointer
    private let release: @Sendable (UnsafeRawBufferPointer) -> Void

    init(memory: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        unsafe self.memory = memory
        unsafe self.release = release
    }

    deinit {
        unsafe release(memory)
    }
}
