import InflightImages

/// A JPEG XL file: a bare codestream or one in boxes (ISO/IEC 18181-2), parsed without decoding.
///
/// Sizes are as stored, with a separate orientation, although libjxl applies the orientation when it decodes. A profile
/// is compressed, so its name is not available.
struct JPEGXLStructure: FileStructure {
    static let format = ImageFormat.jpegXL

    var header: JPEGXLHeader

    /// The maximum header length in bytes: that of 4,097 channels with the longest names.
    private static let longestHeader = 5 << 20

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .jpegXL, storedWidth: header.width, storedHeight: header.height,
            orientation: ImageInfo.Orientation(rawValue: header.orientation) ?? .up,
            colorModel: header.hasBlack ? .cmyk : header.isGray ? .gray : .rgb,
            bitsPerComponent: header.bitsPerSample, hasAlpha: header.hasAlpha, mayHaveMoreFrames: header.isAnimated)
    }

    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<JPEGXLStructure> {
        guard bytes.count >= 12 else { return .needsMoreBytes(64) }
        // Few headers have more than some hundred bytes, so most of the codestream is not copied.
        for limit in [1 << 12, 1 << 16, longestHeader] {
            let (start, needed) = try codestream(bytes, limit: limit)
            switch JPEGXLHeader.read(start) {
            case .header(let header): return .header(JPEGXLStructure(header: header))
            case .damaged: throw CodecError.damaged(.jpegXL, "malformed header")
            case .needsMore where start.count == limit: continue
            case .needsMore:
                guard let needed else { throw CodecError.damaged(.jpegXL, "unterminated header") }
                return .needsMoreBytes(needed)
            }
        }
        throw CodecError.damaged(.jpegXL, "unterminated header")
    }

    /// Returns the peak memory of libjxl per pixel of the image, in bytes: an upper bound of what was measured with
    /// libjxl 0.7 for each kind of image.
    var bytesPerPixel: Int {
        let isDeep = header.bitsPerSample > 8
        let output = (header.isGray ? 1 : 3) + (header.hasAlpha ? 1 : 0) + (header.hasBlack ? 1 : 0)
        let channels = 3 + header.extraChannelCount
        var working = 8
        let isStreamed = header.frame.map { !$0.isModular && !$0.hasNoise && $0.isAlone } ?? false
        // Only blocks of transformed colours are decoded and written in groups. In general, all channels are in memory
        // as integers, while they are reconstructed, and as floating-point numbers.
        if !isStreamed || header.extraChannelCount > 0 {
            working = 9 * channels + (isDeep ? 8 : 0)
            if header.frame?.hasNoise ?? true { working += 20 }
            // Earlier and later frames refer to a copy.
            if !(header.frame?.isAlone ?? false) { working += 4 * channels }
        }
        return output * (isDeep ? 2 : 1) + working
    }

    /// Returns the available start of the codestream, of at most `limit` bytes, and the number of file bytes needed for
    /// more; `nil` if it ends.
    private static func codestream(_ bytes: Bytes, limit: Int) throws(LoadError) -> ([UInt8], needed: Int?) {
        if bytes[0] == 0xFF, bytes[1] == 0x0A {
            return ((0..<min(bytes.count, limit)).map { bytes[$0] }, bytes.count.saturating(plus: 256))
        }
        var found: [UInt8] = []
        var position = 0
        while found.count < limit {
            switch HEIFBox.read(bytes, at: position) {
            case .impossible: throw CodecError.damaged(.jpegXL, "invalid box length")
            case .needs(let count): return (found, count)
            case .box(let box):
                if position == 0, !box.has("JXL ", bytes) {
                    throw CodecError.damaged(.jpegXL, "malformed header")
                }
                let isWhole = box.has("jxlc", bytes)
                if isWhole || box.has("jxlp", bytes) {
                    // A part starts with its number, whose highest bit marks the last one.
                    let start = box.content.lowerBound + (isWhole ? 0 : 4)
                    let end = min(box.end, bytes.count, start.saturating(plus: limit - found.count))
                    if start < end { found += (start..<end).map { bytes[$0] } }
                    if box.end > bytes.count { return (found, min(box.end, bytes.count.saturating(plus: 256))) }
                    let isLast = isWhole || (bytes.big32(at: box.content.lowerBound) ?? 0) >> 31 == 1
                    // A box without a length extends to the end of the file.
                    if box.isOpen { return (found, bytes.count.saturating(plus: 256)) }
                    if isLast { return (found, nil) }
                } else if box.isOpen {
                    return (found, nil)
                }
                position = box.end
            }
        }
        return (found, nil)
    }

    /// Parses the boxes up to the last part of the codestream. Finding the end of a codestream requires decoding.
    static func walk(_ bytes: Bytes) throws(LoadError) {
        guard case .header = try readHeader(bytes) else { throw CodecError.truncated(.jpegXL) }
        if bytes[0] == 0xFF { return }
        var position = 0
        while true {
            guard case .box(let box) = HEIFBox.read(bytes, at: position), box.end <= bytes.count else {
                throw CodecError.truncated(.jpegXL)
            }
            if box.has("jxlc", bytes) { return }
            if box.has("jxlp", bytes), (bytes.big32(at: box.content.lowerBound) ?? 0) >> 31 == 1 { return }
            if box.isOpen { throw CodecError.damaged(.jpegXL, "no image data") }
            position = box.end
        }
    }
}
