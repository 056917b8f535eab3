/// Bytes that identify files of a format.
///
/// A codec for a format that ``ImageFormat/detect(_:)`` does not know declares its signatures:
///
/// ```swift
/// var signatures: [FormatSignature] { [FormatSignature(.ppm, Array("P6\n".utf8))] }
/// ```
public struct FormatSignature: Sendable, Hashable {
    /// The maximum offset of a signature's end, in bytes from the start of the file.
    public static let maximumReach = 1024

    /// The format of files that match.
    public let format: ImageFormat
    /// The bytes to match, at least one.
    public let bytes: [UInt8]
    /// The offset of ``bytes`` from the start of the file, in bytes.
    public let offset: Int

    /// Creates a signature.
    ///
    /// - Parameters:
    ///   - format: The format of files that match.
    ///   - bytes: At least one byte. Use as many as the format fixes, because signatures of registered codecs are
    ///     compared before the built-in ones.
    ///   - offset: The offset of the bytes from the start of the file.
    /// - Precondition: there is at least one byte, and the signature neither begins before the file nor reaches beyond
    ///   ``maximumReach``.
    public init(_ format: ImageFormat, _ bytes: [UInt8], at offset: Int = 0) {
        precondition(
            !bytes.isEmpty && offset >= 0 && offset <= Self.maximumReach - bytes.count,
            "a signature must have 1 to \(Self.maximumReach) bytes within a file's first \(Self.maximumReach)")
        self.format = format
        self.bytes = bytes
        self.offset = offset
    }

    /// The number of bytes at the start of a file that decide whether it matches.
    var reach: Int { offset + bytes.count }
}
