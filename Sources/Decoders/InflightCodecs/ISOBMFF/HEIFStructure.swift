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
/// Sizes are as stored, after the crop (`clap`), with a separate orientation. The crop is applied first, whatever the
/// order of the properties (ISO/IEC 23000-22 section 7.3.6.7).
struct HEIFStructure<Brand: HEIFBrand>: FileStructure {
    static var format: ImageFormat { Brand.format }

    /// Nil for a sequence without a still.
    let items: HEIFItems?
    let color: HEIFImage
    let alpha: HEIFImage?
    let isPremultiplied: Bool
    /// Whether the file is a sequence, of which one image is decoded: the still, or the first of the first track.
    let isSequence: Bool
    /// The size before the crop.
    private(set) var codedSize = (width: 0, height: 0)
    private(set) var crop = HEIFCrop()
    private var turn = HEIFOrientation()
    private(set) var samples = HEIFSamples()
    private var profile: Range<Int>?
    /// The primaries by ITU-T H.273, if the transfer curve is that of sRGB or television, not of high dynamic range.
    private var primaries: Int?

    func info(_ bytes: Bytes) -> ImageInfo {
        var info = ImageInfo(
            format: Self.format, storedWidth: crop.width, storedHeight: crop.height, orientation: turn.orientation,
            colorModel: samples.isGray ? .gray : .rgb, bitsPerComponent: samples.bits, hasAlpha: alpha != nil,
            profileName: profile.flatMap { ICCProfile(bytes, $0).name }, mayHaveMoreFrames: isSequence)
        if profile == nil { info.colorPrimaries = primaries }
        return info
    }

    /// Parses up to the end of the `meta` box, or of `moov` in a sequence without a still.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<Self> {
        switch try description(bytes) {
        case .needs(let count): .needsMoreBytes(count)
        case .found(let found): .header(try Self(bytes, found))
        }
    }

    static func probe(_ bytes: Bytes, isComplete: Bool) throws(LoadError) -> ProbeResult {
        switch try description(bytes) {
        case .needs(let count):
            if isComplete { throw CodecError.truncated(format) }
            return .needsMoreBytes(count)
        case .found(let found):
            // Only the end of the file is the end of such a box.
            if found.box.isOpen, !isComplete { return .needsMoreBytes(bytes.count.saturating(plus: 1 << 16)) }
            return .info(try Self(bytes, found).info(bytes))
        }
    }

    /// The box that describes the image.
    private struct Description {
        var box: HEIFBox
        var items: HEIFItems?
        var isSequence: Bool
    }

    private enum Search {
        case found(Description)
        case needs(Int)
    }

    /// Finds the first `meta` box at the top level of the file with an image, or else `moov`.
    private static func description(_ bytes: Bytes) throws(LoadError) -> Search {
        var position = 0
        var isSequence = false
        while true {
            switch HEIFBox.read(bytes, at: position) {
            case .needs(let count):
                return .needs(count)
            case .impossible:
                throw damaged("invalid box length")
            case .box(let box):
                if position == 0 {
                    guard box.has("ftyp", bytes), !box.isOpen else { throw damaged("malformed header") }
                    guard box.end <= bytes.count else { return .needs(box.end) }
                    isSequence = ["avis", "msf1", "hevc", "hevx", "heis"].contains { (brand: StaticString) in
                        stride(from: box.content.lowerBound, to: box.end, by: 4).contains { bytes.has(brand, at: $0) }
                    }
                } else if box.has("meta", bytes) {
                    guard box.end <= bytes.count else { return .needs(box.end) }
                    let items = try HEIFItems(bytes, box, format)
                    if items.primary != nil {
                        return .found(Description(box: box, items: items, isSequence: isSequence))
                    }
                    // The box may only have metadata of the sequence.
                    guard isSequence else { throw damaged("no primary image") }
                } else if box.has("moov", bytes) {
                    guard box.end <= bytes.count else { return .needs(box.end) }
                    return .found(Description(box: box, items: nil, isSequence: true))
                } else if box.has("mini", bytes) {
                    throw CodecError.unsupported(format, "its header is a MinimizedImageBox (mini)")
                }
                // No box can follow one that extends to the end of the file.
                if box.isOpen { throw damaged("a box without a length") }
                position = box.end
            }
        }
    }

    private init(_ bytes: Bytes, _ description: Description) throws(LoadError) {
        isSequence = description.isSequence
        items = description.items
        if let items = description.items, let primary = items.primary {
            let extents = items.extents() ?? [:]
            color = try HEIFImage(items, primary, extents)
            if let alpha = items.alpha(of: primary) {
                self.alpha = try HEIFImage(items, alpha, extents)
                isPremultiplied = items.multipliers[primary] == alpha
            } else {
                alpha = try Self.alphaOfTiles(color.parts[0], items, primary, extents)
                isPremultiplied = false
            }
        } else {
            let tracks = try HEIFTracks(bytes, description.box, Self.format)
            color = tracks.color
            alpha = tracks.alpha
            isPremultiplied = tracks.isPremultiplied
        }
        try read(bytes)
    }

    /// Returns the alpha of a grid whose tiles have alpha each.
    private static func alphaOfTiles(
        _ grid: HEIFImage.Part, _ items: HEIFItems, _ item: Int, _ extents: [Int: [Range<Int>]]
    ) throws(LoadError) -> HEIFImage? {
        guard grid.type == HEIFImage.code("grid"), let tiles = items.sources[item] else { return nil }
        let alphas = tiles.compactMap { items.alpha(of: $0) }
        if alphas.isEmpty { return nil }
        guard alphas.count == tiles.count else {
            throw CodecError.unsupported(format, "a grid of which only some tiles have alpha")
        }
        return try HEIFImage(alphaOfTiles: alphas, of: grid, items, extents)
    }

    private mutating func read(_ bytes: Bytes) throws(LoadError) {
        let image = color.parts[0]
        samples = HEIFSamples(color, bytes)
        var aperture: HEIFBox?
        for box in image.properties {
            let start = box.content.lowerBound
            if box.has("irot", bytes), let angle = bytes.byte(at: start), !box.content.isEmpty {
                turn.rotate(angle & 3)
            } else if box.has("imir", bytes), let axis = bytes.byte(at: start), !box.content.isEmpty {
                turn.mirror(leftToRight: axis & 1 == 1)
            } else if box.has("clap", bytes) {
                aperture = box
            }
        }
        // A grid without a profile has that of its tiles.
        for box in image.properties + (image.sources.isEmpty ? [] : color.coded.properties) where box.has("colr", bytes)
        {
            let start = box.content.lowerBound
            if profile == nil, bytes.has("prof", at: start) || bytes.has("rICC", at: start), box.content.count > 4 {
                profile = start + 4..<box.end
            } else if primaries == nil, bytes.has("nclx", at: start), let transfer = bytes.big16(at: start + 6),
                box.content.count >= 8
            {
                primaries = [1, 6, 13, 14, 15].contains(transfer) ? bytes.big16(at: start + 4) : nil
            }
        }
        guard let size = image.size ?? HEIFSamples.size(image, bytes), size.width > 0, size.height > 0,
            size.width <= 0x7FFF_FFFF, size.height <= 0x7FFF_FFFF
        else { throw Self.damaged("its image has no size (ispe)") }
        codedSize = size
        crop = HEIFCrop(width: size.width, height: size.height)
        if let aperture {
            guard let cropped = HEIFCrop(aperture, bytes, of: crop) else {
                throw CodecError.unsupported(Self.format, "a crop to fractional pixels, or outside the image")
            }
            crop = cropped
        }
    }

    private static func damaged(_ what: String) -> LoadError { CodecError.damaged(format, what) }

    /// Parses the boxes to the end of the file, and checks that the bytes of each item, or of the image in a sequence
    /// without a still, are within it.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        guard case .found(let found) = try description(bytes) else { throw CodecError.truncated(format) }
        try Self(bytes, found).checkExtents(bytes)
        var position = found.box.end
        // Data that is not a box follows the end of the image.
        while bytes.count - position >= 8, (position + 4..<position + 8).allSatisfy({ isPrintable(bytes[$0]) }) {
            guard case .box(let box) = HEIFBox.read(bytes, at: position), box.end <= bytes.count else {
                throw CodecError.truncated(format)
            }
            position = box.end
        }
    }

    /// Checks that the bytes of all items, or of a sequence's first image, are within the file.
    func checkExtents(_ bytes: Bytes) throws(LoadError) {
        let images = [color] + (alpha.map { [$0] } ?? [])
        let isInside = images.flatMap(\.parts).flatMap(\.extents).allSatisfy { $0.upperBound <= bytes.count }
        guard isInside, items?.extentsLieInside() ?? true else { throw CodecError.truncated(Self.format) }
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }
}
