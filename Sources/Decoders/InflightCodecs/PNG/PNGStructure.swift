internal import CInflightCodecs
import InflightImages

/// The chunks of a PNG file (PNG specification, third edition, section 5), parsed without decoding.
struct PNGStructure: FileStructure {
    static let format = ImageFormat.png

    var width = 0
    var height = 0
    var bitDepth = 0
    var colorType = 0
    var isInterlaced = false
    var hasTransparency = false
    var frameCount = 1
    var color = PNGColor()
    var orientation: ImageInfo.Orientation?
    private var hasPalette = false

    var hasAlpha: Bool { colorType & 4 != 0 || hasTransparency }

    var colorModel: ImageInfo.ColorModel {
        switch colorType {
        case 0, 4: .gray
        case 3: .indexed
        default: .rgb
        }
    }

    func info(_ bytes: Bytes) -> ImageInfo {
        var info = ImageInfo(
            format: .png, storedWidth: width, storedHeight: height, orientation: orientation ?? .up,
            frameCount: frameCount, colorModel: colorModel, bitsPerComponent: bitDepth, hasAlpha: hasAlpha,
            profileName: color.profileName(in: bytes), isProgressive: isInterlaced)
        info.colorPrimaries = color.primaries
        return info
    }

    /// Returns the transform of the image's colours to sRGB, or nil if none is needed.
    func colorTransform(in bytes: Bytes) -> ColorTransform? {
        color.transform(in: bytes, isGray: colorModel == .gray, bitDepth: bitDepth)
    }

    /// Parses up to the first pixels. If the bytes contain the chunks after them, too, the orientation may be there.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<PNGStructure> {
        var structure = PNGStructure()
        var position = 8
        while true {
            guard let length = bytes.big32(at: position), bytes.count >= position + 8 else {
                return .needsMoreBytes(position + 64)
            }
            guard length <= 0x7FFF_FFFF else { throw CodecError.damaged(.png, "invalid chunk length") }
            if position == 8, !bytes.has("IHDR", at: 12) || length != 13 {
                throw CodecError.damaged(.png, "missing header chunk")
            }
            if bytes.has("IDAT", at: position + 4) {
                structure.readOrientation(bytes, after: position)
                return .header(structure)
            }
            if bytes.has("IEND", at: position + 4) { throw CodecError.damaged(.png, "no image data") }
            let content = position + 8..<position + 8 + length
            // Includes the checksum and the next chunk's length and name, which are needed anyway.
            let end = content.upperBound + 4
            guard bytes.count >= end else { return .needsMoreBytes(end + 8) }
            try structure.read(bytes, content)
            position = end
        }
    }

    private mutating func read(_ bytes: Bytes, _ content: Range<Int>) throws(LoadError) {
        let start = content.lowerBound
        if bytes.has("IHDR", at: start - 4) { return try readSize(bytes, start) }
        if bytes.has("PLTE", at: start - 4) { hasPalette = true }
        let names: [StaticString] = ["tRNS", "acTL", "eXIf", "cICP", "iCCP", "sRGB", "gAMA", "cHRM"]
        guard names.contains(where: { bytes.has($0, at: start - 4) }), Self.isIntact(bytes, content) else { return }
        if bytes.has("tRNS", at: start - 4) {
            hasTransparency = true
        } else if bytes.has("acTL", at: start - 4) {
            if content.count >= 8, let count = bytes.big32(at: start) { frameCount = max(1, count) }
        } else if bytes.has("eXIf", at: start - 4) {
            orientation = orientation ?? EXIFOrientation.find(in: bytes, content)
        } else if !hasPalette {
            color.read(bytes, content)
        }
    }

    /// Reads the orientation from a chunk after the pixels, if there is none before.
    private mutating func readOrientation(_ bytes: Bytes, after position: Int) {
        var position = position
        while orientation == nil, let length = bytes.big32(at: position), length <= bytes.count - position - 12 {
            let content = position + 8..<position + 8 + length
            if bytes.has("eXIf", at: position + 4), Self.isIntact(bytes, content) {
                orientation = EXIFOrientation.find(in: bytes, content)
            }
            position = content.upperBound + 4
        }
    }

    /// Whether the checksum of a chunk is correct.
    static func isIntact(_ bytes: Bytes, _ content: Range<Int>) -> Bool {
        bytes.big32(at: content.upperBound) == checksum(bytes, content.lowerBound - 4..<content.upperBound)
    }

    static func checksum(_ bytes: Bytes, _ range: Range<Int>) -> Int {
        unsafe bytes.withUnsafeBytes { memory in
            unsafe checksum(UnsafeRawBufferPointer(rebasing: memory[range]))
        }
    }

    static func checksum(_ memory: UnsafeRawBufferPointer) -> Int {
        guard let base = memory.baseAddress else { return 0 }
        return unsafe Int(inflight_crc32(0, base.assumingMemoryBound(to: UInt8.self), memory.count))
    }

    private mutating func readSize(_ bytes: Bytes, _ start: Int) throws(LoadError) {
        guard width == 0, let wide = bytes.big32(at: start), let high = bytes.big32(at: start + 4),
            (1...0x7FFF_FFFF).contains(wide), (1...0x7FFF_FFFF).contains(high)
        else { throw CodecError.damaged(.png, "malformed header") }
        width = wide
        height = high
        bitDepth = Int(bytes[start + 8])
        colorType = Int(bytes[start + 9])
        isInterlaced = bytes[start + 12] != 0
        let depths = [0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]][colorType] ?? []
        guard depths.contains(bitDepth), bytes[start + 10] == 0, bytes[start + 11] == 0, bytes[start + 12] <= 1 else {
            throw CodecError.damaged(.png, "malformed header")
        }
    }

    /// Parses to the last chunk and verifies the checksum of each critical one. Optional chunks with a wrong checksum
    /// are ignored when the image is decoded.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        guard case .header = try readHeader(bytes) else { throw CodecError.truncated(.png) }
        var position = 8
        while true {
            guard let length = bytes.big32(at: position), length <= bytes.count - position - 12 else {
                throw CodecError.truncated(.png)
            }
            let content = position + 8..<position + 8 + length
            let isCritical = bytes[position + 4] & 0x20 == 0
            guard !isCritical || isIntact(bytes, content) else { throw CodecError.damaged(.png, "checksum mismatch") }
            if bytes.has("IEND", at: position + 4) { return }
            position = content.upperBound + 4
        }
    }
}
