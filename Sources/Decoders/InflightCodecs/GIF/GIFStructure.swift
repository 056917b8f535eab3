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
    /// The blocks of the first frame.
    var first = Place(descriptor: 0, control: nil)
    /// Whether all blocks and frames that were begun are complete, so that the file may end here without its trailer.
    private var isBetweenFrames = false

    /// The position of the flags that announce the global colour table.
    static let globalFlags = 10

    /// The position of a frame's descriptor, and that of the graphic control extension before it, if there is one.
    struct Place {
        var descriptor: Int
        var control: Int?
    }

    /// A block that concerns animations.
    enum Block {
        /// The number of repetitions after the first play; 0 means forever.
        case loop(Int)
        /// A frame whose data is complete.
        case frame(Place)
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

    /// Parses to the trailer, or to anything or nothing in its place behind a complete frame.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        var structure = GIFStructure()
        let end = try structure.walk(bytes)
        if structure.isBetweenFrames { return }
        switch end {
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
        var position = 13 + Self.tableSize(bytes[Self.globalFlags])
        var control: Int?
        while true {
            guard let kind = bytes.byte(at: position) else { return .needs(position + 64) }
            let start = position
            switch kind {
            case 0x3B: return .trailer
            case 0x21:
                isBetweenFrames = false
                if bytes.byte(at: position + 1) == 0xF9 {
                    control = position
                } else if let count = Self.loopCount(bytes, position) {
                    try take(.loop(count))
                }
                position += 2
            case 0x2C:
                guard bytes.count >= position + 10 else { return .needs(position + 64) }
                isBetweenFrames = false
                if frameCount == 0 { try readFrame(bytes, Place(descriptor: position, control: control)) }
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
            if kind == 0x2C {
                try take(.frame(Place(descriptor: start, control: control)))
                control = nil
            }
            isBetweenFrames = frameCount > 0 && control == nil
        }
    }

    /// Returns the index of the transparent colour, if a graphic control extension has one (GIF89a, section 23).
    static func transparentIndex(_ bytes: Bytes, control: Int?) -> Int? {
        // An extension of another length is ignored, as in other decoders.
        guard let control, bytes.byte(at: control + 2) == 4, let flags = bytes.byte(at: control + 3), flags & 1 != 0
        else { return nil }
        return bytes.byte(at: control + 6)
    }

    /// Returns the loop count of the Netscape application extension at `position`, or `nil` if it is another extension.
    private static func loopCount(_ bytes: Bytes, _ position: Int) -> Int? {
        guard bytes.byte(at: position + 1) == 0xFF, bytes.byte(at: position + 2) == 11,
            bytes.has("NETSCAPE2.0", at: position + 3) || bytes.has("ANIMEXTS1.0", at: position + 3),
            let length = bytes.byte(at: position + 14), length >= 3, bytes.byte(at: position + 15) == 1
        else { return nil }
        return bytes.little16(at: position + 16)
    }

    private mutating func readFrame(_ bytes: Bytes, _ place: Place) throws(LoadError) {
        let position = place.descriptor
        guard let left = bytes.little16(at: position + 1), let top = bytes.little16(at: position + 3),
            let wide = bytes.little16(at: position + 5), let high = bytes.little16(at: position + 7), wide > 0, high > 0
        else { throw CodecError.damaged(.gif, "missing size of the first frame") }
        first = place
        isInterlaced = bytes[position + 9] & 0x40 != 0
        // The canvas is enlarged to hold its first frame, as in browsers and Pillow. Later frames are clipped.
        width = max(width, left + wide)
        height = max(height, top + high)
        hasAlpha =
            Self.transparentIndex(bytes, control: place.control) != nil || left > 0 || top > 0 || left + wide < width
            || top + high < height
    }

    /// Returns the size of a colour table in bytes, from the flags that announce it.
    static func tableSize(_ flags: UInt8) -> Int {
        flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
    }
}
