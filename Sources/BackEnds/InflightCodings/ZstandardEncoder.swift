internal import CInflightCodings

/// Encodes a stream of bytes as one Zstandard frame (RFC 8878) with a checksum.
///
/// Equal bytes give an equal frame, however they are divided between calls.
// Safe: only this object uses and closes the library's handle.
@safe package final class ZstandardEncoder {
    /// The library could not allocate memory.
    package struct OutOfMemory: Error {}

    private static let roomBytes = 64 * 1024

    private let encoding: OpaquePointer
    private let room: UnsafeMutablePointer<UInt8>

    /// Creates an encoder.
    ///
    /// - Parameter level: The compression level, from 1 to 22. The default is the library's.
    /// - Throws: ``OutOfMemory``.
    package init(level: Int = 3) throws(OutOfMemory) {
        guard let encoding = unsafe inflight_encoding_open(Int32(clamping: level)) else { throw OutOfMemory() }
        unsafe self.encoding = encoding
        unsafe room = .allocate(capacity: Self.roomBytes)
    }

    deinit {
        unsafe inflight_encoding_close(encoding)
        unsafe room.deallocate()
    }

    /// Encodes bytes.
    ///
    /// - Parameters:
    ///   - bytes: The next bytes of the stream.
    ///   - ends: Whether these are the last. Do not call this method again after them.
    ///   - output: The frame so far is appended to it. The library retains up to 128 KiB of input.
    /// - Throws: ``OutOfMemory``.
    package func encode(_ bytes: [UInt8], ends: Bool = false, into output: inout [UInt8]) throws(OutOfMemory) {
        var offset = 0
        while true {
            var taken = 0
            var given = 0
            let status = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe inflight_encoding_run(
                    encoding, bytes.baseAddress.map { unsafe $0 + offset }, bytes.count - offset, ends ? 1 : 0, &taken,
                    room, Self.roomBytes, &given)
            }
            offset += taken
            unsafe output.append(contentsOf: UnsafeBufferPointer(start: room, count: given))
            switch Int(status) {
            case INFLIGHT_CODING_FULL: continue
            case INFLIGHT_CODING_MORE, INFLIGHT_CODING_END: return
            default: throw OutOfMemory()
            }
        }
    }
}
