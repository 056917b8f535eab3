import InflightImages

/// The chunks of a WebP file (RFC 9649 section 2), parsed without decoding.
struct WebPStructure: FileStructure {
    static let format = ImageFormat.webp

    var width = 0
    var height = 0
    var hasAlpha = false
    var isAnimated = false
    /// The number of frames that start in the available bytes.
    var frameCount = 1
    /// Whether the available bytes end before those of an animation.
    var mayHaveMoreFrames = false
    var isLossless = false
    var profile: Range<Int>?
    var orientation: ImageInfo.Orientation?
    /// The first frame's chunks, and its position and size on the canvas.
    var frame: Range<Int> = 0..<0
    var frameX = 0
    var frameY = 0
    var frameWidth = 0
    var frameHeight = 0
    /// Whether the first frame has a separate alpha chunk.
    var hasAlphaChunk = false

    private enum Flag {
        static let animation = 0x02
        static let exif = 0x08
        static let alpha = 0x10
    }

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .webp, storedWidth: width, storedHeight: height, orientation: orientation ?? .up,
            frameCount: frameCount, hasAlpha: hasAlpha, profileName: profile.flatMap { ICCProfile(bytes, $0).name },
            mayHaveMoreFrames: mayHaveMoreFrames)
    }

    /// Parses up to the first frame's header, up to the EXIF metadata at the end of the file if the header announces
    /// it, and all available bytes of an animation to count its frames.
    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<WebPStructure> {
        guard bytes.count >= 12 else { return .needsMoreBytes(64) }
        var structure = WebPStructure()
        var flags = 0
        var position = 12
        var frames = 0
        let end = min(structureEnd(bytes), .max - 64)
        while position < end {
            guard let size = bytes.little32(at: position + 4) else {
                return try structure.partial(frames, flags, position + 64)
            }
            let content = position + 8..<position + 8 + size
            if bytes.has("VP8X", at: position) {
                // Only at the start, because the frames are checked against its canvas.
                guard size >= 10, position == 12 else { throw CodecError.damaged(.webp, "malformed header") }
                guard let read = bytes.byte(at: content.lowerBound),
                    let width = bytes.little24(at: content.lowerBound + 4),
                    let height = bytes.little24(at: content.lowerBound + 7)
                else { return .needsMoreBytes(position + 64) }
                flags = read
                structure.width = width + 1
                structure.height = height + 1
                structure.hasAlpha = flags & Flag.alpha != 0
                structure.isAnimated = flags & Flag.animation != 0
            } else if bytes.has("ICCP", at: position) {
                guard content.upperBound <= bytes.count else { return .needsMoreBytes(content.upperBound + 32) }
                structure.profile = content
            } else if bytes.has("EXIF", at: position) {
                guard content.upperBound <= bytes.count else {
                    return try structure.partial(frames, flags, content.upperBound)
                }
                let start = content.lowerBound + (bytes.has("Exif\0\0", at: content.lowerBound) ? 6 : 0)
                if start < content.upperBound {
                    structure.orientation = EXIFOrientation.find(in: bytes, start..<content.upperBound)
                }
                flags &= ~Flag.exif
            } else if bytes.has("ANMF", at: position) {
                if frames == 0 {
                    guard size >= 24 else { throw CodecError.damaged(.webp, "malformed first frame") }
                    guard bytes.count >= content.lowerBound + 24 else {
                        return .needsMoreBytes(content.lowerBound + 64)
                    }
                    try structure.readFrame(bytes, content)
                }
                frames += 1
            } else if frames == 0, bytes.has("ALPH", at: position) || bytes.has("VP8", at: position) {
                // The bitstream's own header, which follows the alpha chunk if there is one.
                guard let needed = try structure.readStill(bytes, position, content.upperBound + content.count % 2, end)
                else { return .needsMoreBytes(content.upperBound + 64) }
                if needed > bytes.count { return .needsMoreBytes(needed) }
                frames = 1
            }
            if frames > 0, flags & (Flag.exif | Flag.animation) == 0 { break }
            position = content.upperBound + size % 2
        }
        guard frames > 0 else { throw CodecError.damaged(.webp, "no image data") }
        structure.frameCount = frames
        return .header(structure)
    }

    /// Returns the result if the bytes end before the file does. The remaining frames of an animation are not needed.
    private func partial(_ frames: Int, _ flags: Int, _ needed: Int) throws(LoadError) -> HeaderResult<WebPStructure> {
        guard frames > 0, flags & Flag.exif == 0 else { return .needsMoreBytes(needed) }
        var structure = self
        structure.frameCount = frames
        structure.mayHaveMoreFrames = flags & Flag.animation != 0
        return .header(structure)
    }

    private static func structureEnd(_ bytes: Bytes) -> Int {
        8 + (bytes.little32(at: 4) ?? 0)
    }

    private mutating func readFrame(_ bytes: Bytes, _ content: Range<Int>) throws(LoadError) {
        let start = content.lowerBound
        frameX = 2 * (bytes.little24(at: start) ?? 0)
        frameY = 2 * (bytes.little24(at: start + 3) ?? 0)
        frameWidth = (bytes.little24(at: start + 6) ?? 0) + 1
        frameHeight = (bytes.little24(at: start + 9) ?? 0) + 1
        frame = start + 16..<content.upperBound
        hasAlphaChunk = bytes.has("ALPH", at: start + 16)
        isLossless = bytes.has("VP8L", at: start + 16)
        guard width > 0, frameX + frameWidth <= width, frameY + frameHeight <= height else {
            throw CodecError.damaged(.webp, "the first frame is outside the canvas")
        }
        // The canvas outside the frame is transparent.
        hasAlpha = hasAlpha || hasAlphaChunk || frameWidth < width || frameHeight < height
    }

    /// Parses the header of the `VP8 ` or `VP8L` chunk at `position`, or after the `ALPH` chunk there. Returns the
    /// number of bytes it needs, or `nil` if that is unknown as well.
    private mutating func readStill(
        _ bytes: Bytes, _ position: Int, _ next: Int, _ end: Int
    ) throws(LoadError) -> Int? {
        frame = position..<end
        var position = position
        if bytes.has("ALPH", at: position) {
            hasAlphaChunk = true
            position = next
            guard bytes.count >= position + 8 else { return nil }
        }
        let start = position + 8
        let isLossless = bytes.has("VP8L", at: position)
        let needed = start + (isLossless ? 5 : 10)
        guard bytes.count >= needed else { return needed }
        self.isLossless = isLossless
        if isLossless {
            guard bytes[start] == 0x2F, let bits = bytes.little32(at: start + 1), bits >> 29 == 0 else {
                throw CodecError.damaged(.webp, "malformed header")
            }
            frameWidth = (bits & 0x3FFF) + 1
            frameHeight = (bits >> 14 & 0x3FFF) + 1
            hasAlpha = hasAlpha || bits >> 28 & 1 != 0
        } else {
            // A key frame with its start code (RFC 6386 section 9.1).
            guard bytes.has("VP8 ", at: position), bytes[start] & 1 == 0, bytes[start + 3] == 0x9D,
                bytes[start + 4] == 0x01, bytes[start + 5] == 0x2A, let wide = bytes.little16(at: start + 6),
                let high = bytes.little16(at: start + 8)
            else { throw CodecError.damaged(.webp, "malformed header") }
            frameWidth = wide & 0x3FFF
            frameHeight = high & 0x3FFF
            hasAlpha = hasAlpha || hasAlphaChunk
        }
        if width == 0 {
            width = frameWidth
            height = frameHeight
        }
        guard frameWidth > 0, frameHeight > 0, frameWidth == width, frameHeight == height else {
            throw CodecError.damaged(.webp, "inconsistent sizes")
        }
        return needed
    }

    /// Parses to the end that the file declares.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        guard case .header = try readHeader(bytes) else { throw CodecError.truncated(.webp) }
        let end = structureEnd(bytes)
        guard end <= bytes.count else { throw CodecError.truncated(.webp) }
        try walkChunks(bytes, 12..<end)
    }

    private static func walkChunks(_ bytes: Bytes, _ range: Range<Int>) throws(LoadError) {
        var position = range.lowerBound
        while position < range.upperBound {
            guard position <= range.upperBound - 8, let size = bytes.little32(at: position + 4),
                size + size % 2 <= range.upperBound - position - 8
            else { throw CodecError.damaged(.webp, "a chunk extends past the end") }
            if bytes.has("ANMF", at: position), size >= 16 {
                try walkChunks(bytes, position + 24..<position + 8 + size)
            }
            position += 8 + size + size % 2
        }
    }
}
