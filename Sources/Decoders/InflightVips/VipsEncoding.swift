internal import CInflightVips
public import InflightCore

extension VipsDecoder {
    /// The longest side that is written.
    private static let maximumSide = 16_384

    /// Writes an AVIF picture without metadata, of eight bits; with alpha unless the pixels are of an opaque format. The
    /// same pixels and options give the same bytes.
    ///
    /// Any thread may call it. It takes long, some tenths of a second for each million pixels, and cannot be cancelled.
    ///
    /// - Parameter options: their quality is 60 where they have none; above 90, colours are not subsampled.
    /// - Throws: ``LoadError/Code/unsupportedFormat`` for any other format, ``LoadError/Code/cannotEncode`` for a quality
    ///   that is none, a picture that is too large, or metadata.
    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try Self.start()
        guard Self.encodableFormats.contains(options.format) else { throw PictureError.notWritten(options.format) }
        guard options.metadata?.isEmpty ?? true else { throw PictureError.noPlaceForMetadata(options.format) }
        let quality = options.quality ?? 60
        guard (1...100).contains(quality) else {
            throw PictureError.cannotEncode(.avif, "the quality has to be 1 … 100, and is \(quality)")
        }
        guard pixels.width <= Self.maximumSide, pixels.height <= Self.maximumSide else {
            throw PictureError.cannotEncode(
                .avif,
                "it has \(pixels.width) × \(pixels.height) pixels, and \(Self.maximumSide) is the most for a side")
        }
        let source = pixels.converted(to: .rgba).withoutGaps
        var message = VipsMessage()
        var memory: UnsafeMutablePointer<UInt8>?
        var count = 0
        let status = unsafe source.withUnsafeBytes { bytes in
            unsafe message.withBuffer {
                unsafe inflight_vips_write_avif(
                    bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), Int32(source.width), Int32(source.height),
                    source.format.alpha == .opaque ? 0 : 1, Int32(quality), &memory, &count, $0)
            }
        }
        guard status == 0, let memory = unsafe memory else { throw PictureError.cannotEncode(.avif, message.reason) }
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: memory, count: count)) { memory in
            unsafe inflight_vips_free(UnsafeMutableRawPointer(mutating: memory.baseAddress))
        }
    }
}

extension PixelBuffer {
    /// The same pixels, each row right behind the one before.
    fileprivate var withoutGaps: PixelBuffer {
        if bytesPerRow == width * 4 { return self }
        return unsafe PixelBuffer(width: width, height: height, format: format) { target in
            unsafe withUnsafeBytes { source in
                for y in 0..<height {
                    unsafe UnsafeMutableRawBufferPointer(rebasing: target[(y * width * 4)...]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: source[y * bytesPerRow..<y * bytesPerRow + width * 4]))
                }
            }
        }
    }
}
