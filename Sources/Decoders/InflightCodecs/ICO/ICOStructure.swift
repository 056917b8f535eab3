import InflightImages

/// The directory of an icon file (Microsoft: Icons, `ICONDIR`), and the header of its largest image: a whole PNG, or a
/// bitmap without a file header and of twice the height, because a mask of transparent pixels follows it.
struct ICOStructure: FileStructure {
    static let format = ImageFormat.ico

    enum Picture {
        case bitmap(BMPStructure)
        case png(PNGStructure)
    }

    let picture: Picture
    /// The location of the image in the file.
    let place: Range<Int>

    private struct Entry {
        var area: Int
        var bits: Int
        var offset: Int
        var count: Int
    }

    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<ICOStructure> {
        guard let count = bytes.little16(at: 4), bytes.count >= 6 + 16 * count else {
            return .needsMoreBytes(6 + 16 * (bytes.little16(at: 4) ?? 1))
        }
        let isCursor = bytes.byte(at: 2) == 2
        let entries = (0..<count).compactMap { entry(bytes, at: 6 + 16 * $0, isCursor: isCursor) }
        guard let best = entries.max(by: { ($0.area, $0.bits) < ($1.area, $1.bits) }) else {
            throw CodecError.damaged(.ico, "no image")
        }
        guard best.offset >= 6 + 16 * count, best.count > 0 else {
            throw CodecError.damaged(.ico, "the largest image overlaps the directory")
        }
        let place = best.offset..<best.offset + best.count
        guard bytes.count > best.offset + 8 else { return .needsMoreBytes(best.offset + 64) }
        // A PNG is recognised by its signature, even if the directory declares something else.
        if bytes.byte(at: best.offset) == 0x89, bytes.has("PNG", at: best.offset + 1) {
            let part = bytes.part(best.offset..<min(bytes.count, place.upperBound))
            switch try PNGStructure.readHeader(part) {
            case .needsMoreBytes(let more):
                if part.count == best.count { throw CodecError.truncated(.ico) }
                return .needsMoreBytes(best.offset + more)
            case .header(let structure): return .header(ICOStructure(picture: .png(structure), place: place))
            }
        }
        switch try BMPStructure.readHeader(bytes, at: best.offset, pixelStart: nil, format: .ico) {
        case .needsMoreBytes(let more): return .needsMoreBytes(more)
        case .header(var structure):
            guard structure.height > 1, structure.compression == .none else {
                throw CodecError.damaged(.ico, "the largest image is neither BMP nor PNG")
            }
            structure.height /= 2
            // In icons, the fourth byte is alpha.
            if structure.bits == 32, structure.masks.count == 3 { structure.masks.append(0xFF00_0000) }
            return .header(ICOStructure(picture: .bitmap(structure), place: place))
        }
    }

    private static func entry(_ bytes: Bytes, at start: Int, isCursor: Bool) -> Entry? {
        guard let wide = bytes.byte(at: start), let high = bytes.byte(at: start + 1),
            let colors = bytes.byte(at: start + 2), let depth = bytes.little16(at: start + 6),
            let count = bytes.little32(at: start + 8), let offset = bytes.little32(at: start + 12)
        else { return nil }
        // Many entries have only the number of colours, where zero means at least 256. That of a cursor has its hot
        // spot instead of a depth.
        let bits = depth == 0 || isCursor ? (colors == 0 ? 8 : Int.bitWidth - (colors - 1).leadingZeroBitCount) : depth
        // Zero means 256.
        return Entry(
            area: (wide == 0 ? 256 : wide) * (high == 0 ? 256 : high), bits: bits, offset: offset, count: count)
    }

    func info(_ bytes: Bytes) -> ImageInfo {
        var info: ImageInfo
        switch picture {
        case .bitmap(let structure):
            info = structure.info(bytes)
            info.hasAlpha = true
        case .png(let structure): info = structure.info(bytes.part(place.clamped(to: 0..<bytes.count)))
        }
        info.format = .ico
        return info
    }

    /// Returns the start of a bitmap's mask. Only images with alpha may lack it.
    func maskStart(_ structure: BMPStructure, _ bytes: Bytes) throws(LoadError) -> Int {
        if bytes.count < place.upperBound { throw CodecError.truncated(.ico) }
        let start = structure.pixelStart + structure.byteCount(rows: structure.height)
        let end = start + (structure.width + 31) / 32 * 4 * (structure.height - 1) + (structure.width + 7) / 8
        if bytes.count < end, structure.bits != 32 { throw CodecError.truncated(.ico) }
        return start
    }

    func walk(_ bytes: Bytes) throws(LoadError) {
        switch picture {
        case .bitmap(let structure):
            try structure.walk(bytes, format: .ico)
            _ = try maskStart(structure, bytes)
        case .png:
            guard bytes.count >= place.upperBound else { throw CodecError.truncated(.ico) }
            try PNGStructure.walk(bytes.part(place))
        }
    }
}
