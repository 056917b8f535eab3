import InflightImages

extension WebPStructure {
    /// Returns the content of the chunks `EXIF` and `XMP `, which follow the pixels (RFC 9649 section 2.7.1.5).
    static func metadata(in bytes: Bytes) -> ImageMetadata {
        var metadata = ImageMetadata()
        var position = 12
        while let size = bytes.little32(at: position + 4), size <= bytes.count - position - 8 {
            let content = position + 8..<position + 8 + size
            if bytes.has("EXIF", at: position), metadata.exifBytes == nil {
                // Some writers insert the prefix of JPEG.
                let mark = bytes.has("Exif\0\0", at: content.lowerBound) && size > 6 ? 6 : 0
                metadata.exifBytes = bytes.metadataPart(content.lowerBound + mark..<content.upperBound)
            } else if bytes.has("XMP ", at: position), metadata.xmpBytes == nil {
                metadata.xmpBytes = bytes.metadataPart(content)
            }
            position = content.upperBound + size % 2
        }
        return metadata
    }
}
