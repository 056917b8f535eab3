extension ImageFormat {
    /// Returns the format of an image file from its first bytes alone, regardless of name or media type.
    ///
    /// - Parameter bytes: the start of a file. At most the first 256 bytes are examined, or the first 256 KiB of
    ///   markup, whose first element may follow long comments.
    /// - Returns: `nil` if the format is unknown, or if there are too few bytes to recognise it.
    public static func detect(_ bytes: Bytes) -> ImageFormat? {
        for (format, offset, signature) in signatures where bytes.holds(signature, at: offset) {
            return format
        }
        if bytes.holds("RIFF", at: 0), bytes.holds("WEBP", at: 8) { return .webp }
        if let format = boxFormat(bytes) { return format }
        if isBareBitmap(bytes) { return .bmp }
        return markup(bytes) == .svg ? .svg : nil
    }

    private static let signatures: [(ImageFormat, Int, [UInt8])] = [
        (.jpeg, 0, [0xFF, 0xD8, 0xFF]),
        (.png, 0, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
        (.gif, 0, Array("GIF87a".utf8)),
        (.gif, 0, Array("GIF89a".utf8)),
        (.jpegXL, 0, [0xFF, 0x0A]),
        (.jpegXL, 0, [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A]),
        (.jpeg2000, 0, [0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A]),
        (.jpeg2000, 0, [0xFF, 0x4F, 0xFF, 0x51]),
        (.tiff, 0, [0x49, 0x49, 0x2A, 0x00]),
        (.tiff, 0, [0x4D, 0x4D, 0x00, 0x2A]),
        (.tiff, 0, [0x49, 0x49, 0x2B, 0x00]),
        (.tiff, 0, [0x4D, 0x4D, 0x00, 0x2B]),
        (.psd, 0, Array("8BPS".utf8)),
        (.pdf, 0, Array("%PDF-".utf8)),
    ]

    /// Returns the format of ISO base media files by the brands in the first box (ISO/IEC 14496-12 section 4.3), and of
    /// BMP and ICO, whose short signatures need a second check.
    private static func boxFormat(_ bytes: Bytes) -> ImageFormat? {
        if bytes.holds("ftyp", at: 4) {
            let size = (0..<4).reduce(0) { $0 << 8 | Int(bytes[$1]) }
            let end = min(size, bytes.count, 256)
            // The minor version of this brand is that of the codec (ISO/IEC 23008-12, annex on the minimized box).
            if bytes.holds("mif3", at: 8) {
                return bytes.holds("avif", at: 12) ? .avif : bytes.holds("heic", at: 12) ? .heic : nil
            }
            var isHEIC = false
            // The major brand, its version (which is not a brand), and the compatible brands.
            for offset in stride(from: 8, to: end - 3, by: 4) where offset != 12 {
                if bytes.holds("avif", at: offset) || bytes.holds("avis", at: offset) { return .avif }
                isHEIC = isHEIC || heicBrands.contains { bytes.holds($0, at: offset) }
            }
            return isHEIC ? .heic : nil
        }
        if bytes.holds("BM", at: 0), bytes.count >= 18 {
            // The size of the second header is 12 for the oldest kind and at least 16 for the others.
            let header = (0..<4).reduce(0) { $0 | Int(bytes[14 + $1]) << (8 * $1) }
            return header == 12 || (16...256).contains(header) ? .bmp : nil
        }
        // Cursors differ from icons only in fields that browsers do not show.
        if bytes.holds([0, 0, 1, 0], at: 0) || bytes.holds([0, 0, 2, 0], at: 0), bytes.count >= 10 {
            // Require at least one image, and zero in the reserved byte of its entry. .NET writes 255.
            return bytes[4] | bytes[5] != 0 && (bytes[9] == 0 || bytes[9] == 255) ? .ico : nil
        }
        return nil
    }

    /// Whether this is a Windows bitmap without a file header, recognised by header fields that have few valid values.
    private static func isBareBitmap(_ bytes: Bytes) -> Bool {
        guard bytes.count >= 20, bytes[1] == 0, bytes[2] == 0, bytes[3] == 0 else { return false }
        let isOld = bytes[0] == 12
        let depth = isOld ? 10 : 14
        guard isOld || [40, 52, 56, 64, 108, 124].contains(bytes[0]), bytes.holds([1, 0], at: depth - 2),
            [1, 2, 4, 8, 16, 24, 32].contains(bytes[depth]), bytes[depth + 1] == 0
        else { return false }
        return isOld || bytes[16] <= 6 && bytes.holds([0, 0, 0], at: 17)
    }

    private static let heicBrands = ["heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"]

    /// Whether the bytes are the start of markup, and more of them may show that it is SVG.
    package static func isUndecidedMarkup(_ bytes: Bytes) -> Bool { markup(bytes) == .undecided }

    private enum Markup { case svg, other, undecided }

    /// Looks for the DOCTYPE or the first element, of any prefix. Only declarations and comments may precede it.
    private static func markup(_ bytes: Bytes) -> Markup {
        let text = SVGText.utf8(bytes, limit: SVGRoot.maximumBytes)
        var scanner = SVGScanner(text, limit: min(text.count, SVGRoot.maximumBytes))
        scanner.skipBlanks()
        if !scanner.isAtEnd, text[scanner.position] != UInt8(ascii: "<") { return .other }
        func isSVG(_ name: String) -> Bool { name == "svg" || name.hasSuffix(":svg") }
        let isElement = scanner.skipProlog()
        // The DOCTYPE may declare entities beyond the bytes examined here, and is sufficient by itself.
        if let type = scanner.documentType { return isSVG(type) ? .svg : .other }
        if isElement, let name = scanner.name() { return isSVG(name) ? .svg : .other }
        return scanner.isAtEnd && bytes.count < SVGRoot.maximumBytes ? .undecided : .other
    }
}

extension Bytes {
    /// Whether the bytes at `offset` equal `expected`.
    func holds(_ expected: [UInt8], at offset: Int) -> Bool {
        guard offset >= 0, count - offset >= expected.count else { return false }
        return expected.indices.allSatisfy { self[offset + $0] == expected[$0] }
    }

    func holds(_ expected: String, at offset: Int) -> Bool {
        holds(Array(expected.utf8), at: offset)
    }
}
