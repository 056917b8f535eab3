internal import CInflightSQLite

/// Computes XXH64 over bytes that come in pieces, at some 10 GB/s. A damaged body matches by chance once in 2⁶⁴.
///
/// `Documentation/Decisions/0006-bodies-that-survive.md` states why this one was chosen.
// Safe: the C structure is a value without pointers.
@safe struct Checksum {
    private var state = inflight_checksum()

    /// - Parameter seed: The identity of the cache, so that another cache's bytes never match.
    init(seed: UInt64) {
        unsafe inflight_checksum_begin(&state, seed)
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        unsafe inflight_checksum_add(&state, bytes.baseAddress, bytes.count)
    }

    mutating func add(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe add($0) }
    }

    mutating func add(_ word: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: word.littleEndian) { unsafe add($0) }
    }

    var value: UInt64 { unsafe withUnsafePointer(to: state) { unsafe inflight_checksum_end($0) } }

    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var sum = Checksum(seed: seed)
        unsafe sum.add(bytes)
        return sum.value
    }

    static func of(_ text: String, seed: UInt64) -> UInt64 {
        var sum = Checksum(seed: seed)
        sum.add(Array(text.utf8))
        return sum.value
    }
}
