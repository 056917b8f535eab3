internal import CInflightSQLite

/// Computes XXH64 over bytes that come in pieces, at some 10 GB/s. A damaged body matches by chance once in 2⁶⁴.
///
/// `Documentation/Decisions/0006-bodies-that-survive.md` states why this one was chosen.
// Safe: the C structure is a value without pointers.
@safe package struct XXH64 {
    private var state = inflight_checksum()

    /// Creates the checksum of no bytes.
    ///
    /// - Parameter seed: Another seed yields other checksums. The identity of a cache, for example, so that another
    ///   cache's bytes never match.
    package init(seed: UInt64) {
        unsafe inflight_checksum_begin(&state, seed)
    }

    /// Adds the bytes of a buffer.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        unsafe inflight_checksum_add(&state, bytes.baseAddress, bytes.count)
    }

    /// Adds bytes.
    package mutating func add(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe add($0) }
    }

    /// Adds an integer's bytes, least significant byte first.
    package mutating func add(_ word: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: word.littleEndian) { unsafe add($0) }
    }

    /// The checksum of the bytes so far.
    package var value: UInt64 { unsafe withUnsafePointer(to: state) { unsafe inflight_checksum_end($0) } }

    /// Returns the checksum of a buffer.
    package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var sum = XXH64(seed: seed)
        unsafe sum.add(bytes)
        return sum.value
    }

    /// Returns the checksum of a text in UTF-8.
    package static func of(_ text: String, seed: UInt64) -> UInt64 {
        var sum = XXH64(seed: seed)
        sum.add(Array(text.utf8))
        return sum.value
    }
}
