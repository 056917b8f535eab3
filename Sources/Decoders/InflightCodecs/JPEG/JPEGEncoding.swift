internal import CInflightCodecs
import InflightImages

/// Writes JPEG, baseline or progressive, with chroma at half the resolution. Baseline files use the standard's Huffman
/// codes, progressive files use codes made for the image.
enum JPEGEncoding {
    static let maximumSide = 65_500

    static func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try options.check(.jpeg)
        guard pixels.width <= maximumSide, pixels.height <= maximumSide else {
            throw CodecError.cannotEncode(
                .jpeg, "it has \(pixels.width) × \(pixels.height) pixels; the limit per side is \(maximumSide)")
        }
        guard !options.isLossless else {
            throw CodecError.cannotEncode(.jpeg, "lossless encoding is not supported. Choose png or webp")
        }
        let quality = try options.checkedQuality(usual: 85)
        let ground = options.background
        guard ground.count == 3 else {
            throw CodecError.cannotEncode(.jpeg, "the background must be three numbers: red, green and blue")
        }
        let opaque = pixels.flattened(onto: ground[0], ground[1], ground[2])
        let file = try unsafe EncodedMemory.make(.jpeg) { bytes, count, message in
            unsafe opaque.withUnsafeBytes { memory in
                unsafe inflight_jpeg_encode(
                    memory.baseAddress!.assumingMemoryBound(to: UInt8.self), opaque.bytesPerRow, Int32(opaque.width),
                    Int32(opaque.height), opaque.format.order == .bgra ? 1 : 0, Int32(quality),
                    options.isProgressive ? 1 : 0, bytes, count, message)
            }
        }
        guard let metadata = options.fittedMetadata(pixels) else { return file }
        return try MetadataWriting.jpeg(file, metadata)
    }
}

extension EncodeOptions {
    /// Throws if the requested format is not the one that the codec writes.
    func check(_ written: ImageFormat) throws(LoadError) {
        guard format == written else {
            throw LoadError(
                .unsupportedFormat, stage: .encode,
                message: "This codec encodes \(written), not \(format). Choose a codec by its encodableFormats.")
        }
    }

    func checkedQuality(usual: Int) throws(LoadError) -> Int {
        let quality = quality ?? usual
        guard (1...100).contains(quality) else {
            throw CodecError.cannotEncode(format, "the quality is \(quality), and must be 1 to 100")
        }
        return quality
    }
}

/// The memory that an encoder of the C target has allocated and written.
enum EncodedMemory {
    static func make(
        _ format: ImageFormat,
        _ encode: (
            UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>, UnsafeMutablePointer<CChar>
        ) -> Int32
    ) throws(LoadError) -> Bytes {
        var memory: UnsafeMutablePointer<UInt8>?
        var count = 0
        var message = [CChar](repeating: 0, count: 256)
        let status = unsafe encode(&memory, &count, &message)
        guard status == 0, let start = unsafe memory else {
            let text = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            throw CodecError.cannotEncode(format, String(decoding: text, as: UTF8.self))
        }
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: start, count: count)) { memory in
            unsafe inflight_free(UnsafeMutableRawPointer(mutating: memory.baseAddress))
        }
    }
}
