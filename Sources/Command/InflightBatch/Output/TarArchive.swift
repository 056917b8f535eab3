/// The framing of a tar archive: the bytes before, between and after the bodies of its members.
///
/// The caller writes the bytes that it returns, and copies the bodies itself:
///
/// ```swift
/// var archive = TarArchive()
/// write(try archive.beginMember("000000000.jpg", size: body.size))
/// copy(body)
/// write(archive.endMember())
/// write(archive.end())
/// ```
package struct TarArchive: Equatable, Sendable {
    /// The size of a record, in bytes: 20 blocks, the default of `tar`. An archive is a multiple of it.
    package static let recordSize: Int64 = 10_240

    /// The number of bytes so far, the body of the current member included.
    package private(set) var byteCount: Int64 = 0
    /// The offset of the current member's body from the beginning of the archive, in bytes.
    package private(set) var bodyOffset: Int64 = 0

    /// Creates an archive without members.
    package init() {}

    /// Begins a member whose body the caller writes next. Call ``endMember()`` after the body.
    ///
    /// - Parameters:
    ///   - path: The member's name.
    ///   - size: The size of the body, in bytes. The caller must write exactly as many.
    /// - Returns: The header block. The archive is unchanged if it throws.
    package mutating func beginMember(_ path: String, size: Int64) throws(TarHeader.Failure) -> [UInt8] {
        let header = try TarHeader(path: path, size: size)
        bodyOffset = byteCount + Int64(TarHeader.blockSize)
        byteCount = bodyOffset + size
        return header.bytes
    }

    /// Ends the current member.
    ///
    /// - Returns: The zeros that pad the body to a multiple of a block.
    package mutating func endMember() -> [UInt8] {
        zeros(toMultipleOf: Int64(TarHeader.blockSize))
    }

    /// Returns a whole member: header, body and padding.
    ///
    /// - Parameters:
    ///   - path: The member's name.
    ///   - body: The body, for members that are small enough for memory.
    package mutating func member(_ path: String, body: [UInt8]) throws(TarHeader.Failure) -> [UInt8] {
        var bytes = try beginMember(path, size: Int64(body.count))
        bytes.reserveCapacity(body.count + 2 * TarHeader.blockSize)
        bytes += body
        bytes += endMember()
        return bytes
    }

    /// Ends the archive.
    ///
    /// - Returns: Two blocks of zeros, and zeros up to a multiple of ``recordSize``.
    package mutating func end() -> [UInt8] {
        let terminator = [UInt8](repeating: 0, count: 2 * TarHeader.blockSize)
        byteCount += Int64(terminator.count)
        return terminator + zeros(toMultipleOf: Self.recordSize)
    }

    private mutating func zeros(toMultipleOf unit: Int64) -> [UInt8] {
        let count = (unit - byteCount % unit) % unit
        byteCount += count
        return [UInt8](repeating: 0, count: Int(count))
    }
}
