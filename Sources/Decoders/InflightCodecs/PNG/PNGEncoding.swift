internal import CInflightCodecs
import InflightImages

/// Writes PNG of eight bits, with alpha unless the pixel format is opaque.
enum PNGEncoding {
    static func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        let straight = pixels.converted(to: PixelBuffer.Format(order: pixels.format.order, alpha: .straight))
        let hasAlpha = straight.format.alpha != .opaque
        let file = try unsafe EncodedMemory.make(.png) { bytes, count, message in
            unsafe straight.withUnsafeBytes { memory in
                unsafe inflight_png_encode(
                    memory.baseAddress!.assumingMemoryBound(to: UInt8.self), straight.bytesPerRow,
                    Int32(straight.width), Int32(straight.height), straight.format.order == .bgra ? 1 : 0,
                    hasAlpha ? 1 : 0, bytes, count, message)
            }
        }
        return options.fittedMetadata(width: pixels.width, height: pixels.height).map { MetadataWriting.png(file, $0) }
            ?? file
    }
}
