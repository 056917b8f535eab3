import InflightImages

/// A format whose files are HEIF.
protocol HEIFBrand {
    static var format: ImageFormat { get }
}

enum AVIFBrand: HEIFBrand { static let format = ImageFormat.avif }
enum HEICBrand: HEIFBrand { static let format = ImageFormat.heic }

typealias AVIFStructure = HEIFStructure<AVIFBrand>
typealias HEICStructure = HEIFStructure<HEICBrand>

/// The boxes of a HEIF file (ISO/IEC 23008-12; AVIF by AOM's "AV1 Image File Format" 1.1), parsed without decoding.
///
/// Sizes are as stored, with a separate orientation, although libheif applies the orientation when it decodes.
struct HEIFStructure<Brand: HEIFBrand>: FileStructure {
    static var format: ImageFormat { Brand.format }

    var width = 0
    var height = 0
    private var turn = HEIFOrientation()
    var bitsPerComponent = 8
    var isGray = false
    var hasAlpha = false
    var profile: Range<Int>?
    /// The primaries by ITU-T H.273, if the transfer curve is that of sRGB or television, not of high dynamic range.
    private var primaries: Int?
    /// Whether the file is a sequence, of which only the still image is decoded.
    var isSequence = false

    func info(_ bytes: Bytes) -> ImageInfo {
        var info = ImageInfo(
            format: Self.format, storedWidth: width, storedHeight: height, orientation: turn.orientation,
            colorModel: isGray ? .gray : .rgb, bitsPerComponent: bitsPerComponent, hasAlpha: hasAlpha,
            profileName: profile.flatMap { ICCProfile(bytes, $0).name }, mayHaveMoreFrames: isSequence)
        if profile == nil { info.colorPrimaries = primaries }
        return info
    }

    /// Parses up to the end of the `meta` box, which mostly precedes the pixels.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<Self> {
        switch try meta(bytes) {
        case .needs(let count): return .needsMoreBytes(count)
        case .found(let meta, let isSequence):
            var structure = Self()
            structure.isSequence = isSequence
            try structure.read(HEIFItems(bytes, meta))
            return .header(structure)
        }
    }

    private enum Meta {
        case found(HEIFBox, isSequence: Bool)
        case needs(Int)
    }

    /// Returns the first `meta` box at the top level of the file.
    private static func meta(_ bytes: Bytes) throws(LoadError) -> Meta {
        var position = 0
        var isSequence = false
        while true {
            switch HEIFBox.read(bytes, at: position) {
            case .needs(let count):
                return .needs(count)
            case .impossible:
                throw damaged("invalid box length")
            case .box(let box):
                // No required box can follow one that extends to the end of the file.
                if box.isOpen { throw damaged("a box without a length") }
                if position == 0 {
                    guard box.has("ftyp", bytes) else { throw damaged("malformed header") }
                    guard box.end <= bytes.count else { return .needs(box.end) }
                    isSequence = ["avis", "msf1", "hevc", "hevx", "heis"].contains { (brand: StaticString) in
                        stride(from: box.content.lowerBound, to: box.end, by: 4).contains { bytes.has(brand, at: $0) }
                    }
                } else if box.has("meta", bytes) {
                    return box.end <= bytes.count ? .found(box, isSequence: isSequence) : .needs(box.end)
                } else if box.has("moov", bytes) {
                    // A still image, if any, would precede it.
                    throw CodecError.unsupported(format, "an image sequence without a still image")
                }
                position = box.end
            }
        }
    }

    private mutating func read(_ items: HEIFItems) throws(LoadError) {
        guard let primary = items.primary else { throw Self.damaged("no primary image") }
        let bytes = items.bytes
        var hasDepth = false
        var aperture: HEIFBox?
        for box in items.properties(of: primary) {
            let start = box.content.lowerBound
            if box.has("ispe", bytes), box.content.count >= 12 {
                width = bytes.big32(at: start + 4) ?? 0
                height = bytes.big32(at: start + 8) ?? 0
            } else if box.has("irot", bytes), let angle = bytes.byte(at: start), !box.content.isEmpty {
                turn.rotate(angle & 3)
            } else if box.has("imir", bytes), let axis = bytes.byte(at: start), !box.content.isEmpty {
                turn.mirror(leftToRight: axis & 1 == 1)
            } else if box.has("clap", bytes) {
                aperture = box
            } else if box.has("colr", bytes), profile == nil,
                bytes.has("prof", at: start) || bytes.has("rICC", at: start),
                box.content.count > 4
            {
                profile = start + 4..<box.end
            } else if box.has("colr", bytes), primaries == nil, bytes.has("nclx", at: start),
                let transfer = bytes.big16(at: start + 6), box.content.count >= 8
            {
                primaries = [1, 6, 13, 14, 15].contains(transfer) ? bytes.big16(at: start + 4) : nil
            } else if box.has("pixi", bytes), !hasDepth, box.content.count >= 6 {
                bitsPerComponent = min(max(1, bytes.byte(at: start + 5) ?? 8), 16)
            } else {
                hasDepth = readDepth(box, bytes) || hasDepth
            }
        }
        guard width > 0, height > 0, width <= 0x7FFF_FFFF, height <= 0x7FFF_FFFF else {
            throw Self.damaged("missing size")
        }
        if let aperture { try crop(aperture, bytes) }
        // The tiles of a grid describe its samples.
        if !hasDepth, items.isGrid(primary), let part = items.references("dimg", from: primary).first {
            for box in items.properties(of: part) { _ = readDepth(box, bytes) }
        }
        hasAlpha = items.references("auxl", to: primary).contains { item in
            items.properties(of: item).contains { isAlpha($0, bytes) }
        }
    }

    /// Reads the sample depth from a codec's own header. Returns whether the box is one.
    private mutating func readDepth(_ box: HEIFBox, _ bytes: Bytes) -> Bool {
        let start = box.content.lowerBound
        if box.has("av1C", bytes), box.content.count >= 4, let flags = bytes.byte(at: start + 2) {
            bitsPerComponent = flags & 0x40 == 0 ? 8 : flags & 0x20 == 0 ? 10 : 12
            isGray = flags & 0x10 != 0
        } else if box.has("hvcC", bytes), box.content.count >= 23, let chroma = bytes.byte(at: start + 16),
            let luma = bytes.byte(at: start + 17)
        {
            bitsPerComponent = 8 + (luma & 7)
            isGray = chroma & 3 == 0
        } else {
            return false
        }
        return true
    }

    /// Crops to the clean aperture (ISO/IEC 14496-12 section 12.1.4), whose sizes are fractions.
    private mutating func crop(_ box: HEIFBox, _ bytes: Bytes) throws(LoadError) {
        let start = box.content.lowerBound
        guard box.content.count >= 32, let wide = bytes.big32(at: start), let wideParts = bytes.big32(at: start + 4),
            let high = bytes.big32(at: start + 8), let highParts = bytes.big32(at: start + 12), wideParts > 0,
            highParts > 0, wide % wideParts == 0, high % highParts == 0, (1...width).contains(wide / wideParts),
            (1...height).contains(high / highParts)
        else { throw CodecError.unsupported(Self.format, "a crop to fractional pixels") }
        width = wide / wideParts
        height = high / highParts
    }

    private func isAlpha(_ box: HEIFBox, _ bytes: Bytes) -> Bool {
        guard box.has("auxC", bytes), let (_, _, content) = box.full(bytes) else { return false }
        return bytes.has("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", at: content.lowerBound)
            || bytes.has("urn:mpeg:hevc:2015:auxid:1", at: content.lowerBound)
    }

    private static func damaged(_ what: String) -> LoadError { CodecError.damaged(format, what) }

    /// Parses the boxes to the end of the file, and checks that the bytes of each item are within it.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        guard case .header = try readHeader(bytes), case .found(let meta, _) = try meta(bytes) else {
            throw CodecError.truncated(format)
        }
        guard HEIFItems(bytes, meta).extentsLieInside() else { throw CodecError.truncated(format) }
        var position = meta.end
        // Data that is not a box follows the end of the image.
        while bytes.count - position >= 8, (position + 4..<position + 8).allSatisfy({ isPrintable(bytes[$0]) }) {
            guard case .box(let box) = HEIFBox.read(bytes, at: position), box.end <= bytes.count else {
                throw CodecError.truncated(format)
            }
            position = box.end
        }
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }
}
