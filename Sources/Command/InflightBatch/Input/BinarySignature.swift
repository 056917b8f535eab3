/// The magic numbers of binary files that may be given as input by mistake.
enum BinarySignature {
    /// The number of bytes that ``kind(of:)`` needs, unless the input is shorter.
    static let length = 12

    /// The kind of Parquet files.
    static let parquet = "a Parquet file"

    private static let prefixes: [(bytes: [UInt8], kind: String)] = [
        ([0xFF, 0xD8, 0xFF], "a JPEG image"), ([0x89, 0x50, 0x4E, 0x47], "a PNG image"),
        (Array("GIF8".utf8), "a GIF image"),
        ([0x49, 0x49, 0x2A, 0x00], "a TIFF image"), ([0x4D, 0x4D, 0x00, 0x2A], "a TIFF image"),
        ([0xFF, 0x0A], "a JPEG XL image"), ([0x1F, 0x8B], "gzip data"), ([0x28, 0xB5, 0x2F, 0xFD], "zstd data"),
        (Array("BZh".utf8), "bzip2 data"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "xz data"),
        ([0x50, 0x4B, 0x03, 0x04], "a ZIP archive"), ([0x37, 0x7A, 0xBC, 0xAF], "a 7-Zip archive"),
        (Array("PAR1".utf8), parquet), (Array("ARROW1".utf8), "an Arrow file"),
        (Array("SQLite format".utf8.prefix(12)), "an SQLite database"), (Array("%PDF-".utf8), "a PDF document"),
        ([0xFF, 0xFE], "UTF-16 text"), ([0xFE, 0xFF], "UTF-16 text"),
    ]

    /// Returns the kind of file that begins with these bytes, or `nil` if it may be text.
    static func kind(of start: ArraySlice<UInt8>) -> String? {
        if let match = prefixes.first(where: { start.starts(with: $0.bytes) }) { return match.kind }
        if start.starts(with: "RIFF".utf8), start.dropFirst(8).starts(with: "WEBP".utf8) { return "a WebP image" }
        return start.dropFirst(4).starts(with: "ftyp".utf8) ? "an ISO media file (AVIF, HEIC, MP4)" : nil
    }
}
