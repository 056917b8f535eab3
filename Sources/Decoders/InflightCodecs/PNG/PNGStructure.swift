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
    var profileName: String?
    var orientation: ImageInfo.Orientation?

    var hasAlpha: Bool { colorType & 4 != 0 || hasTransparency }

    var colorModel: ImageInfo.ColorModel {
        switch colorType {
        case 0, 4: .gray
        case 3: .indexed
        default: .rgb
        }
    }

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .png, storedWidth: width, storedHeight: height, orientation: orientation ?? .up,
            frameCount: frameCount, colorModel: colorModel, bitsPerComponent: bitDepth, hasAlpha: hasAlpha,
            profileName: profileName, isProgressive: isInterlaced)
    }

    /// Parses up to the first pixels.
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
            if bytes.has("IDAT", at: position + 4) { return .header(structure) }
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
        if bytes.has("IHDR", at: start - 4) {
            try readSize(bytes, start)
        } else if bytes.has("tRNS", at: start - 4) {
            hasTransparency = true
        } else if bytes.has("acTL", at: start - 4), let count = bytes.big32(at: start), content.count >= 8 {
            frameCount = max(1, count)
        } else if bytes.has("eXIf", at: start - 4) {
            orientation = EXIFOrientation.find(in: bytes, content)
        } else if bytes.has("iCCP", at: start - 4) {
            // Latin-1, up to a zero byte, without control characters.
            let name = content.prefix(80).prefix { bytes[$0] != 0 }.map { bytes[$0] }
            let scalars = name.filter { $0 >= 0x20 && !(0x7F...0x9F).contains($0) }.map { Unicode.Scalar($0) }
            if !scalars.isEmpty { profileName = String(String.UnicodeScalarView(scalars)) }
        }
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

    /// Parses to the last chunk and verifies the checksum of each.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        guard case .header = try readHeader(bytes) else { throw CodecError.truncated(.png) }
        var position = 8
        while true {
            guard let length = bytes.big32(at: position), length <= bytes.count - position - 12,
                let expected = bytes.big32(at: position + 8 + length)
            else { throw CodecError.truncated(.png) }
            let actual = unsafe bytes.withUnsafeBytes { memory in
                unsafe inflight_crc32(
                    0, memory.baseAddress!.assumingMemoryBound(to: UInt8.self) + position + 4, length + 4)
            }
            guard Int(actual) == expected else { throw CodecError.damaged(.png, "checksum mismatch") }
            if bytes.has("IEND", at: position + 4) { return }
            position += length + 12
        }
    }
}
