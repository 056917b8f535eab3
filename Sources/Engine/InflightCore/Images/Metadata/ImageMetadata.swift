/// What a picture's file says about the picture beside its pixels. Reading it is asked for; it is never kept by itself:
/// it tells where and when pictures were taken, and by whom.
///
/// `codecs.metadata(of:)` reads it; ``EncodeOptions/metadata`` writes it into another file.
public struct ImageMetadata: Sendable, Hashable {
    /// The camera's record (EXIF, CIPA DC-008), as it stands in the file: a TIFF file in small, from its byte order mark.
    public var exifBytes: Bytes?
    /// The extensible record (XMP, ISO 16684-1), as it stands in the file: XML in UTF-8.
    public var xmpBytes: Bytes?

    public init(exifBytes: Bytes? = nil, xmpBytes: Bytes? = nil) {
        self.exifBytes = exifBytes
        self.xmpBytes = xmpBytes
    }

    /// More bytes of one kind are not read: a JPEG's segment has 65,533, the others have what their writers like.
    package static let mostBytes = 4 << 20

    var byteCount: Int { (exifBytes?.count ?? 0) + (xmpBytes?.count ?? 0) }

    public var isEmpty: Bool { exifBytes == nil && xmpBytes == nil }

    /// The camera's record, taken apart; `nil` where there is none, or it is none.
    public var exif: EXIF? { exifBytes.flatMap { EXIF($0) } }

    /// The extensible record as text; `nil` where there is none, or it is no UTF-8.
    public var xmp: String? { xmpBytes.flatMap { String(validating: $0.array, as: UTF8.self) } }
}
