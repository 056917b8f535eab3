import InflightImages

extension EncodeOptions {
    /// Returns the metadata to write with pixels of that size, or `nil` if there is none.
    func fittedMetadata(width: Int, height: Int) -> ImageMetadata? {
        guard let fitted = metadata?.fitted(width: width, height: height), !fitted.isEmpty else { return nil }
        return fitted
    }
}

/// Inserts metadata into encoded files, where each format stores it.
enum MetadataWriting {
    /// Inserts two `APP1` segments after the JFIF segment: EXIF (CIPA DC-008 section 4.7.2), then XMP (XMP
    /// specification part 3 section 1.1.3).
    static func jpeg(_ file: Bytes, _ metadata: ImageMetadata) throws(LoadError) -> Bytes {
        let parts: [(name: String, mark: String, content: Bytes?)] = [
            ("EXIF", "Exif\0\0", metadata.exifBytes), ("XMP", "http://ns.adobe.com/xap/1.0/\0", metadata.xmpBytes),
        ]
        var segments: [UInt8] = []
        for (name, mark, content) in parts {
            guard let content else { continue }
            // The length includes its own 16 bits.
            let length = 2 + mark.utf8.count + content.count
            guard length <= 0xFFFF else {
                throw CodecError.cannotEncode(
                    .jpeg,
                    "the \(name) metadata has \(content.count) bytes; the limit is "
                        + "\(0xFFFF - 2 - mark.utf8.count). Omit it, or choose png or webp")
            }
            segments += [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)]
            segments += mark.utf8
            segments += content.array
        }
        let hasJFIF = file.has("JFIF", at: 6)
        let place = hasJFIF ? 4 + (file.big16(at: 4) ?? 0) : 2
        return file.inserting(segments, at: place)
    }

    /// Inserts two chunks after `IHDR`: `eXIf` (PNG specification, third edition, section 11.3.4.5) and `iTXt` (section
    /// 11.3.3.4; XMP specification part 3 section 1.1.5).
    static func png(_ file: Bytes, _ metadata: ImageMetadata) -> Bytes {
        var chunks: [UInt8] = []
        func append(_ name: String, _ content: [UInt8]) {
            PNGFrameRewriter.chunk(in: &chunks) { chunk in
                chunk += name.utf8
                chunk += content
            }
        }
        if let exif = metadata.exifBytes { append("eXIf", exif.array) }
        // Uncompressed and without a language.
        if let xmp = metadata.xmpBytes {
            append("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + xmp.array)
        }
        // After the signature and the header.
        return file.inserting(chunks, at: 33)
    }

    /// Appends the chunks `EXIF` and `XMP `, and inserts the `VP8X` chunk that announces them before the pixels (RFC
    /// 9649 sections 2.7 and 2.7.1.5).
    static func webp(_ file: Bytes, _ metadata: ImageMetadata, _ pixels: PixelBuffer) throws(LoadError) -> Bytes {
        var flags: UInt8 = (metadata.exifBytes == nil ? 0 : 0x08) | (metadata.xmpBytes == nil ? 0 : 0x04)
        var chunks: [UInt8] = []
        let first: Int
        if file.has("VP8X", at: 12) {
            flags |= file[20]
            first = 30
        } else {
            // A lossless bitstream has its own alpha flag. Lossy files with alpha already have a `VP8X` chunk.
            if file.has("VP8L", at: 12), let word = file.little32(at: 21), word >> 28 & 1 == 1 { flags |= 0x10 }
            first = 12
        }
        append("VP8X", [flags, 0, 0, 0] + little(pixels.width - 1, 3) + little(pixels.height - 1, 3), to: &chunks)
        chunks += unsafe file.withUnsafeBytes { unsafe Array($0[first...]) }
        if let exif = metadata.exifBytes { append("EXIF", exif.array, to: &chunks) }
        if let xmp = metadata.xmpBytes { append("XMP ", xmp.array, to: &chunks) }
        guard chunks.count + 4 <= 0xFFFF_FFFE else {
            throw CodecError.cannotEncode(.webp, "the file would exceed 4 GiB, the limit of the format")
        }
        return Bytes(Array("RIFF".utf8) + little(chunks.count + 4, 4) + Array("WEBP".utf8) + chunks)
    }

    private static func append(_ name: String, _ content: [UInt8], to chunks: inout [UInt8]) {
        chunks += name.utf8
        chunks += little(content.count, 4)
        chunks += content
        if content.count % 2 == 1 { chunks.append(0) }
    }

    private static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}

extension Bytes {
    fileprivate func inserting(_ part: [UInt8], at place: Int) -> Bytes {
        var result: [UInt8] = []
        result.reserveCapacity(count + part.count)
        unsafe withUnsafeBytes { memory in
            unsafe result.append(contentsOf: memory[..<place])
            result += part
            unsafe result.append(contentsOf: memory[place...])
        }
        return Bytes(result)
    }
}
