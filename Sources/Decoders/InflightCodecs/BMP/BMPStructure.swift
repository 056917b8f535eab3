import InflightImages

/// The headers of a BMP file (Microsoft: Bitmap Storage, `BITMAPCOREHEADER` to `BITMAPV5HEADER`; that of OS/2 2.x
/// without its own compressions), and of the bitmaps in icons, which lack the file header.
struct BMPStructure: FileStructure {
    static let format = ImageFormat.bmp

    enum Compression {
        case none, runs
    }

    var width = 0
    var height = 0
    /// Whether rows are stored from top to bottom instead of the usual opposite.
    var isTopDown = false
    var bits = 0
    var compression = Compression.none
    /// The bits of a pixel of 16 or 32 bits that are red, green, blue and alpha.
    var masks: [UInt32] = []
    /// The start of the colours, their number, and the size of each in bytes.
    var paletteStart = 0
    var paletteCount = 0
    var paletteEntry = 4
    var pixelStart = 0
    /// The end of the file that its headers declare; 0 if the value is not plausible.
    var fileEnd = 0
    /// The range of the embedded profile, if any.
    var profile: Range<Int>?

    /// The number of bytes from one row to the next.
    var bytesPerRow: Int { (width * bits + 31) / 32 * 4 }
    /// The end of uncompressed pixels. The last row's padding may be missing.
    var pixelEnd: Int { pixelStart + byteCount(rows: height - 1) + (width * bits + 7) / 8 }
    /// Returns the size of complete rows, capped at a value that exceeds any file.
    func byteCount(rows: Int) -> Int {
        let (count, overflow) = bytesPerRow.multipliedReportingOverflow(by: rows)
        return overflow ? Int.max / 4 : min(count, Int.max / 4)
    }
    var hasAlpha: Bool { masks.count == 4 && masks[3] != 0 }

    func info(_ bytes: Bytes) -> ImageInfo {
        let widest = masks.prefix(3).map(\.nonzeroBitCount).max() ?? 8
        return ImageInfo(
            format: .bmp, storedWidth: width, storedHeight: height, colorModel: bits <= 8 ? .indexed : .rgb,
            bitsPerComponent: bits <= 8 ? 8 : widest, hasAlpha: hasAlpha,
            profileName: profile.flatMap { ICCProfile(bytes, $0).name })
    }

    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<BMPStructure> {
        guard let offset = bytes.little32(at: 10) else { return .needsMoreBytes(64) }
        guard bytes.has("BM", at: 0) else { return try readHeader(bytes, at: 0, pixelStart: nil) }
        let reading = try readHeader(bytes, at: 14, pixelStart: offset)
        guard case .header(var structure) = reading else { return reading }
        // Many files declare a different size. It is used only if it agrees with the pixels.
        let declared = bytes.little32(at: 2) ?? 0
        let end = structure.pixelStart + structure.byteCount(rows: structure.height)
        if structure.compression == .none, declared >= structure.pixelEnd, declared <= end + 3 {
            structure.fileEnd = declared
        }
        return .header(structure)
    }

    /// - Parameter pixelStart: the file header's value; nil without a file header, as in icons, where the pixels
    ///   follow.
    static func readHeader(
        _ bytes: Bytes, at start: Int, pixelStart: Int?, format: ImageFormat = .bmp
    ) throws(LoadError) -> HeaderResult<BMPStructure> {
        guard let size = bytes.little32(at: start) else { return .needsMoreBytes(start + 64) }
        guard size == 12 || (16...256).contains(size) else {
            throw CodecError.damaged(format, "invalid header length")
        }
        // The masks may follow the header.
        let needed = start + max(size, masksEnd(size, kind: size >= 20 ? bytes.little32(at: start + 16) ?? 0 : 0))
        if bytes.count < needed { return .needsMoreBytes(needed) }
        var structure = BMPStructure()
        var isCompressed = 0
        if size == 12 {
            structure.width = bytes.little16(at: start + 4) ?? 0
            structure.height = bytes.little16(at: start + 6) ?? 0
            structure.bits = bytes.little16(at: start + 10) ?? 0
            structure.paletteEntry = 3
        } else {
            structure.width = signed(bytes.little32(at: start + 4))
            let high = signed(bytes.little32(at: start + 8))
            structure.height = abs(high)
            structure.isTopDown = high < 0
            structure.bits = bytes.little16(at: start + 14) ?? 0
            isCompressed = size >= 20 ? bytes.little32(at: start + 16) ?? 0 : 0
        }
        guard structure.width > 0, structure.height > 0 else {
            throw CodecError.damaged(format, "missing size")
        }
        try structure.readPixelForm(bytes, start, size, isCompressed, format)
        try structure.readPlaces(bytes, start, size, isCompressed, pixelStart, format)
        return .header(structure)
    }

    /// Returns the end of the masks from the start of the header; 0 without masks. Longer headers have one for alpha.
    private static func masksEnd(_ size: Int, kind: Int) -> Int {
        kind == 6 || kind == 3 && size >= 56 ? 56 : kind == 3 ? 52 : 0
    }

    private static func signed(_ value: Int?) -> Int { Int(Int32(truncatingIfNeeded: value ?? 0)) }

    private mutating func readPixelForm(
        _ bytes: Bytes, _ start: Int, _ size: Int, _ kind: Int, _ format: ImageFormat
    ) throws(LoadError) {
        // OS/2 2.x uses different compression numbers.
        let isOS2 = size == 64 || size < 40
        switch (kind, bits) {
        case (0, 1), (0, 2), (0, 4), (0, 8), (0, 24): break
        case (0, 16): masks = [0x7C00, 0x03E0, 0x001F]
        case (0, 32): masks = [0x00FF_0000, 0x0000_FF00, 0x0000_00FF]
        case (1, 8), (2, 4): compression = .runs
        case (3, 16) where !isOS2, (3, 32) where !isOS2, (6, 16) where !isOS2, (6, 32) where !isOS2:
            let count = (Self.masksEnd(size, kind: kind) - 40) / 4
            masks = (0..<count).map { UInt32(bytes.little32(at: start + 40 + 4 * $0) ?? 0) }
            guard masks.allSatisfy(Self.isRun), masks.prefix(3).contains(where: { $0 != 0 }) else {
                throw CodecError.damaged(format, "invalid colour masks")
            }
        case (4, 24) where isOS2: throw CodecError.unsupported(format, "OS/2 compression")
        case (3, 1) where isOS2: throw CodecError.unsupported(format, "fax compression")
        case (4, _), (5, _): throw CodecError.unsupported(format, "an embedded JPEG or PNG image for printers")
        case (0...6, _): throw CodecError.damaged(format, "invalid depth of \(bits) bits per pixel")
        default: throw CodecError.unsupported(format, "compression type \(kind)")
        }
    }

    /// Returns whether the set bits are contiguous, if any.
    private static func isRun(_ mask: UInt32) -> Bool {
        mask == 0 || (mask >> mask.trailingZeroBitCount) & ((mask >> mask.trailingZeroBitCount) &+ 1) == 0
    }

    private mutating func readPlaces(
        _ bytes: Bytes, _ start: Int, _ size: Int, _ kind: Int, _ pixelStart: Int?, _ format: ImageFormat
    ) throws(LoadError) {
        paletteStart = start + max(size, Self.masksEnd(size, kind: kind))
        let used = size >= 36 ? bytes.little32(at: start + 32) ?? 0 : 0
        let declared = bits <= 8 ? (used == 0 ? 1 << bits : used) : 0
        let usual = paletteStart + min(declared, 256) * paletteEntry
        // Some old programs store the end of the header as the start of the pixels, and mean the end of the palette.
        // Other offsets within the palette are taken as the start of the pixels, as in Pillow and browsers.
        self.pixelStart = pixelStart.map { $0 <= paletteStart ? usual : $0 } ?? usual
        paletteCount = min(declared, 256)
        if compression == .runs, let count = bytes.little32(at: start + 20), count > 0 {
            fileEnd = self.pixelStart + count
        }
        // `PROFILE_EMBEDDED`, relative to the second header.
        guard size >= 124, bytes.little32(at: start + 56) == 0x4D42_4544,
            let offset = bytes.little32(at: start + 112), let count = bytes.little32(at: start + 116)
        else { return }
        let place = start + offset
        if count > 0, place + count <= bytes.count { profile = place..<place + count }
    }

    /// Checks whether all pixels are present.
    func walk(_ bytes: Bytes, format: ImageFormat = .bmp) throws(LoadError) {
        try checkLength(bytes, format: format)
        switch compression {
        case .none: break
        case .runs:
            var runs = BMPRuns(bytes: bytes, structure: self)
            try runs.read(check: { () throws(LoadError) in }, pixel: { _, _, _ in })
        }
    }

    /// Throws if the file ends before its pixels or before its declared end.
    func checkLength(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        let needed = compression == .none ? max(pixelEnd, fileEnd) : fileEnd
        if bytes.count < needed { throw CodecError.truncated(format) }
    }

    /// Returns the red, green, blue and alpha of each index. Indices beyond the palette are black.
    func palette(_ bytes: Bytes) -> [SIMD4<UInt8>] {
        (0..<256).map { index in
            let place = paletteStart + index * paletteEntry
            guard index < paletteCount, place + 2 < bytes.count else { return SIMD4(0, 0, 0, 255) }
            return SIMD4(bytes[place + 2], bytes[place + 1], bytes[place], 255)
        }
    }
}
