import InflightImages

extension PNGStructure {
    /// Returns the content of `eXIf` and of XMP's `iTXt`, at any position (PNG specification, third edition, section
    /// 11.3.2.3; XMP specification part 3 section 1.1.5). Compressed XMP is ignored: the specification advises against
    /// it.
    static func metadata(in bytes: Bytes) -> ImageMetadata {
        var metadata = ImageMetadata()
        var position = 8
        while let length = bytes.big32(at: position), length <= bytes.count - position - 12,
            !bytes.has("IEND", at: position + 4)
        {
            let content = position + 8..<position + 8 + length
            if bytes.has("eXIf", at: position + 4), metadata.exifBytes == nil {
                metadata.exifBytes = bytes.metadataPart(content)
            } else if bytes.has("iTXt", at: position + 4), metadata.xmpBytes == nil, content.count > 20,
                bytes.has("XML:com.adobe.xmp\0\0", at: content.lowerBound),
                let start = endOfTexts(bytes, content.lowerBound + 20..<content.upperBound)
            {
                metadata.xmpBytes = bytes.metadataPart(start..<content.upperBound)
            }
            position = content.upperBound + 4
        }
        return metadata
    }

    /// Returns the end of the language and of the translated keyword, each of which ends with a zero byte.
    private static func endOfTexts(_ bytes: Bytes, _ range: Range<Int>) -> Int? {
        let zeros = range.lazy.filter { bytes[$0] == 0 }.prefix(2)
        guard zeros.count == 2, let last = zeros.max() else { return nil }
        return last + 1
    }
}
