import InflightImages

/// The blocks of a GIF file (GIF89a specification, sections 15 to 27), parsed without decoding.
struct GIFStructure: FileStructure {
    static let format = ImageFormat.gif

    var width = 0
    var height = 0
    var hasAlpha = false
    var isInterlaced = false
    /// The number of frames that start in the available bytes.
    var frameCount = 0
    /// Whether the available bytes end before the trailer.
    var mayHaveMoreFrames = false
    var frameWidth = 0
    var frameHeight = 0

    /// A block that concerns animations.
    enum Block {
        /// A graphic control extension for the frame after it.
        case control(at: Int)
        /// The number of repetitions after the first play; 0 means forever.
        case loop(Int)
        /// A frame's descriptor, whose data is complete.
        case frame(at: Int)
    }

    /// The reason why parsing the blocks ended.
    enum End {
        case trailer, unknown, needs(Int)
    }

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .gif, storedWidth: width, storedHeight: height, frameCount: frameCount, colorModel: .indexed,
            hasAlpha: hasAlpha, isProgressive: isInterlaced, mayHaveMoreFrames: mayHaveMoreFrames)
    }

    /// Parses up to the first frame, and counts the other frames in the available bytes.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<GIFStructure> {
        var structure = GIFStructure()
        switch try structure.walk(bytes) {
        case .needs(let count) where structure.frameCount == 0: return .needsMoreBytes(count)
        case .trailer where structure.frameCount == 0: throw CodecError.damaged(.gif, "no image data")
        case .unknown where structure.frameCount == 0: throw unknownBlock
        case .needs:
            structure.mayHaveMoreFrames = true
            return .header(structure)
        default: return .header(structure)
        }
    }

    /// Parses to the trailer.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        var structure = GIFStructure()
        switch try structure.walk(bytes) {
        case .needs: throw CodecError.truncated(.gif)
        case .unknown: throw unknownBlock
        case .trailer: break
        }
        guard structure.frameCount > 0 else { throw CodecError.damaged(.gif, "no image data") }
    }

    private static var unknownBlock: LoadError {
        CodecError.damaged(.gif, "unknown block type")
    }

    /// - Parameter take: called with each block in order.
    mutating func walk(
        _ bytes: Bytes, take: (Block) throws(LoadError) -> Void = { (_) throws(LoadError) in }
    ) throws(LoadError) -> End {
        guard bytes.count >= 13, let wide = bytes.little16(at: 6), let high = bytes.little16(at: 8) else {
            return .needs(64)
        }
        width = wide
        height = high
        var position = 13 + Self.tableSize(bytes[10])
        var isTransparent = false
        while true {
            guard let kind = bytes.byte(at: position) else { return .needs(position + 64) }
            let start = position
            switch kind {
            case 0x3B: return .trailer
            case 0x21:
                // A graphic control extension has four bytes. The first has the flag for a transparent colour.
                if bytes.byte(at: position + 1) == 0xF9, let flags = bytes.byte(at: position + 3) {
                    isTransparent = flags & 1 != 0
                    try take(.control(at: position))
                } else if let count = Self.loopCount(bytes, position) {
                    try take(.loop(count))
                }
                position += 2
            case 0x2C:
                guard bytes.count >= position + 10 else { return .needs(position + 64) }
                if frameCount == 0 { try readFrame(bytes, position, isTransparent) }
                frameCount += 1
                position += 10 + Self.tableSize(bytes[position + 9]) + 1
            default: return .unknown
            }
            // The sub-blocks, up to an empty one.
            while true {
                guard let length = bytes.byte(at: position) else { return .needs(position + 256) }
                position += 1 + length
                if length == 0 { break }
            }
            if kind == 0x2C { try take(.frame(at: start)) }
        }
    }

    /// Returns the loop count of the Netscape application extension at `position`, or `nil` if it is another extension.
    private static func loopCount(_ bytes: Bytes, _ position: Int) -> Int? {
        guard bytes.byte(at: position + 1) == 0xFF, bytes.byte(at: position + 2) == 11,
            bytes.has("NETSCAPE2.0", at: position + 3) || bytes.has("ANIMEXTS1.0", at: position + 3),
            let length = bytes.byte(at: position + 14), length >= 3, bytes.byte(at: position + 15) == 1
        else { return nil }
        return bytes.little16(at: position + 16)
    }

    private mutating func readFrame(_ bytes: Bytes, _ position: Int, _ isTransparent: Bool) throws(LoadError) {
        guard let left = bytes.little16(at: position + 1), let top = bytes.little16(at: position + 3),
            let wide = bytes.little16(at: position + 5), let high = bytes.little16(at: position + 7), wide > 0, high > 0
        else { throw CodecError.damaged(.gif, "missing size of the first frame") }
        frameWidth = wide
        frameHeight = high
        isInterlaced = bytes[position + 9] & 0x40 != 0
        // The canvas is enlarged to hold its first frame, as in browsers and Pillow. Later frames are clipped.
        width = max(width, left + wide)
        height = max(height, top + high)
        hasAlpha = isTransparent || left > 0 || top > 0 || left + wide < width || top + high < height
    }

    /// Returns the size of a colour table in bytes, from the flags that announce it.
    private static func tableSize(_ flags: UInt8) -> Int {
        flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
    }
}
