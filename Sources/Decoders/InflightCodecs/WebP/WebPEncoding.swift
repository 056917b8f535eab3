internal import CInflightCodecs
import InflightImages

/// Writes WebP, lossy or lossless, with alpha unless the pixel format is opaque.
enum WebPEncoding {
    static let maximumSide = 16_383

    static func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try options.check(.webp)
        guard pixels.width <= maximumSide, pixels.height <= maximumSide, pixels.bytesPerRow <= Int(Int32.max) else {
            throw CodecError.cannotEncode(
                .webp, "it has \(pixels.width) × \(pixels.height) pixels; the limit per side is \(maximumSide)")
        }
        let quality = try options.checkedQuality(usual: 80)
        let straight = pixels.converted(to: PixelBuffer.Format(order: pixels.format.order, alpha: .straight))
        let file = try unsafe EncodedMemory.make(.webp) { bytes, count, message in
            unsafe straight.withUnsafeBytes { memory in
                unsafe inflight_webp_encode(
                    memory.baseAddress!.assumingMemoryBound(to: UInt8.self), straight.bytesPerRow,
                    Int32(straight.width), Int32(straight.height), straight.format.order == .bgra ? 1 : 0,
                    straight.format.alpha == .opaque ? 0 : 1, Int32(quality), options.isLossless ? 1 : 0, bytes, count,
                    message)
            }
        }
        guard let metadata = options.fittedMetadata(width: pixels.width, height: pixels.height) else { return file }
        return try MetadataWriting.webp(file, metadata, pixels)
    }
}
