#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// An immutable sequence of bytes that owns its memory, of whatever kind.
///
/// Copying a `Bytes` copies a reference. It may be read from any thread.
public struct Bytes: Sendable {
    @usableFromInline let storage: ByteStorage

    /// Takes ownership of `memory`. `release` is called once, on the thread that releases the last copy.
    public init(
        adopting memory: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) {
        unsafe storage = ByteStorage(memory: memory, release: release)
    }

    /// Creates a copy of `bytes`.
    public init(copying bytes: UnsafeRawBufferPointer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 16)
        if bytes.count > 0 { unsafe copy.copyMemory(from: bytes) }
        unsafe self.init(adopting: UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])) { memory in
            unsafe UnsafeMutableRawPointer(mutating: memory.baseAddress)?.deallocate()
        }
    }

    public init(_ bytes: [UInt8]) {
        self = unsafe bytes.withUnsafeBytes { unsafe Bytes(copying: $0) }
    }

    public init(_ text: String) {
        self.init(Array(text.utf8))
    }

    public static let empty = Bytes([])

    @inlinable public var count: Int { unsafe storage.memory.count }
    public var isEmpty: Bool { count == 0 }

    /// Calls `body` with the bytes, which are valid only during the call.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The reference retains the memory until the call has returned.
        let storage = storage
        defer { extendLifetime(storage) }
        return try unsafe body(storage.memory)
    }

    /// The byte at `position`. Traps outside `0 ..< count`.
    @inlinable
    public subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < count, "position \(position) is outside 0 ..< \(count)")
        return unsafe storage.memory[position]
    }

    /// Returns a part of these bytes, which retains all of them. Traps outside `0 ..< count`.
    public func part(_ range: Range<Int>) -> Bytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "\(range) is outside 0 ..< \(count)")
        if range == 0..<count { return self }
        let whole = storage
        // The closure retains the memory for as long as the part exists.
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(rebasing: whole.memory[range])) { _ in
            withExtendedLifetime(whole) {}
        }
    }

    /// A copy of all bytes.
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
