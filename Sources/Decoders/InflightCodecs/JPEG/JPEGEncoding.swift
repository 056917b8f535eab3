internal import CInflightCodecs
import InflightImages

/// Writes JPEG, baseline or progressive, with chroma at half the resolution. Baseline files use the standard's Huffman
/// codes, progressive files use codes made for the image.
enum JPEGEncoding {
    static let maximumSide = 65_500

    static func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        let ground = options.background
        guard ground.count == 3 else {
            throw CodecError.cannotEncode(.jpeg, "the background must be three numbers: red, green and blue")
        }
        return try unsafe encode(width: pixels.width, height: pixels.height, options: options) { file in
            let opaque = pixels.flattened(onto: ground[0], ground[1], ground[2])
            return unsafe opaque.withUnsafeBytes { memory in
                unsafe inflight_jpeg_encode(
                    memory.baseAddress!.assumingMemoryBound(to: UInt8.self), opaque.bytesPerRow,
                    opaque.format.order == .bgra ? 1 : 0, file)
            }
        }
    }

    /// Encodes luma and two planes of chroma at half its resolution, which are those of the file.
    static func encode(_ planes: PlaneResizer, options: EncodeOptions) throws(LoadError) -> Bytes {
        let (width, height) = planes.size(0)
        return try unsafe encode(width: width, height: height, options: options) { file in
            // The encoder reads whole blocks of eight, and sixteen samples are written at once.
            let strides = (0..<3).map { (planes.size($0).width + 15) / 16 * 16 }
            let rows = unsafe (0..<3).map { index in
                let (width, height) = planes.size(index)
                let rows = UnsafeMutablePointer<UInt8>.allocate(capacity: strides[index] * height)
                for y in 0..<height {
                    let row = unsafe rows + y * strides[index]
                    unsafe PlaneColors.bytes(planes.row(index, y), width: width, into: row)
                    unsafe (row + width).update(repeating: row[width - 1], count: strides[index] - width)
                }
                return unsafe UnsafePointer(rows)
            }
            defer { unsafe rows.forEach { unsafe $0.deallocate() } }
            var picture = unsafe inflight_jpeg_planes(
                bytes: (rows[0], rows[1], rows[2]), bytes_per_row: (strides[0], strides[1], strides[2]))
            return unsafe inflight_jpeg_encode_planes(&picture, file)
        }
    }

    private static func encode(
        width: Int, height: Int, options: EncodeOptions, _ write: (UnsafeMutablePointer<inflight_jpeg_file>) -> Int32
    ) throws(LoadError) -> Bytes {
        try options.check(.jpeg)
        guard width <= maximumSide, height <= maximumSide else {
            throw CodecError.cannotEncode(
                .jpeg, "it has \(width) × \(height) pixels; the limit per side is \(maximumSide)")
        }
        guard !options.isLossless else {
            throw CodecError.cannotEncode(.jpeg, "lossless encoding is not supported. Choose png or webp")
        }
        let quality = try options.checkedQuality(usual: 85)
        let encoded = try unsafe EncodedMemory.make(.jpeg) { bytes, count, message in
            var file = unsafe inflight_jpeg_file(
                width: Int32(width), height: Int32(height), quality: Int32(quality),
                is_progressive: options.isProgressive ? 1 : 0, bytes: nil, count: 0, message: message)
            let status = unsafe write(&file)
            unsafe (bytes.pointee, count.pointee) = unsafe (file.bytes, file.count)
            return status
        }
        guard let metadata = options.fittedMetadata(width: width, height: height) else { return encoded }
        return try MetadataWriting.jpeg(encoded, metadata)
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
