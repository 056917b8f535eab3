import InflightImages

/// A JPEG XL file: a bare codestream or one in boxes (ISO/IEC 18181-2), parsed without decoding.
///
/// Sizes are as stored, with a separate orientation, although libjxl applies the orientation when it decodes. A profile
/// is compressed, so its name is not available.
struct JPEGXLStructure: FileStructure {
    static let format = ImageFormat.jpegXL

    var header: JPEGXLHeader

    /// The maximum header length in bytes. Only a header with thousands of channels would be longer.
    private static let longestHeader = 1 << 16

    func info(_ bytes: Bytes) -> ImageInfo {
        ImageInfo(
            format: .jpegXL, storedWidth: header.width, storedHeight: header.height,
            orientation: ImageInfo.Orientation(rawValue: header.orientation) ?? .up,
            colorModel: header.isGray ? .gray : .rgb,
            bitsPerComponent: header.bitsPerSample, hasAlpha: header.hasAlpha, mayHaveMoreFrames: header.isAnimated)
    }

    static func readHeader(_ bytes: Bytes) throws(LoadError) -> HeaderResult<JPEGXLStructure> {
        guard bytes.count >= 12 else { return .needsMoreBytes(64) }
        let (start, needed) = try codestream(bytes)
        switch JPEGXLHeader.read(start) {
        case .header(let header): return .header(JPEGXLStructure(header: header))
        case .damaged: throw CodecError.damaged(.jpegXL, "malformed header")
        case .needsMore:
            guard start.count < longestHeader, let needed else {
                throw CodecError.damaged(.jpegXL, "unterminated header")
            }
            return .needsMoreBytes(needed)
        }
    }

    /// Returns the available start of the codestream, and the number of file bytes needed for more; `nil` if it ends.
    private static func codestream(_ bytes: Bytes) throws(LoadError) -> ([UInt8], needed: Int?) {
        if bytes[0] == 0xFF, bytes[1] == 0x0A {
            let end = min(bytes.count, longestHeader)
            return ((0..<end).map { bytes[$0] }, end < longestHeader ? bytes.count.saturating(plus: 256) : nil)
        }
        var found: [UInt8] = []
        var position = 0
        while found.count < longestHeader {
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
                    let end = min(box.end, bytes.count, start.saturating(plus: longestHeader - found.count))
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
