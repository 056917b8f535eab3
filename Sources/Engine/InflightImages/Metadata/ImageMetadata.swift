/// An image file's metadata beside its pixels.
///
/// It reveals where and when images were taken, and by whom, so it is read only on request and never kept
/// automatically. ``CodecRegistry/metadata(of:)`` reads it; ``EncodeOptions/metadata`` writes it into another file.
public struct ImageMetadata: Sendable, Hashable {
    /// The camera's record (EXIF, CIPA DC-008), as in the file: a small TIFF file, starting at its byte order mark;
    /// `nil` if there is none.
    public var exifBytes: Bytes?
    /// The extensible record (XMP, ISO 16684-1), as in the file: XML in UTF-8; `nil` if there is none.
    public var xmpBytes: Bytes?

    /// Creates metadata from records as in a file. They are not parsed.
    ///
    /// - Parameters:
    ///   - exifBytes: the EXIF record from its byte order mark; `nil` for none.
    ///   - xmpBytes: the XMP record; `nil` for none.
    public init(exifBytes: Bytes? = nil, xmpBytes: Bytes? = nil) {
        self.exifBytes = exifBytes
        self.xmpBytes = xmpBytes
    }

    /// The maximum bytes read of each kind. A JPEG segment has at most 65,533; in other formats the writer decides.
    package static let maximumBytes = 4 << 20

    package var byteCount: Int { (exifBytes?.count ?? 0) + (xmpBytes?.count ?? 0) }

    /// Whether there is neither an EXIF nor an XMP record.
    public var isEmpty: Bool { exifBytes == nil && xmpBytes == nil }

    /// The parsed camera record; `nil` if there is none, or if it is invalid. Each access parses it.
    public var exif: EXIF? { exifBytes.flatMap { EXIF($0) } }

    /// The extensible record as text; `nil` if there is none, or if it is not UTF-8. Each access copies it.
    public var xmp: String? { xmpBytes.flatMap { String(validating: $0.array, as: UTF8.self) } }
}
