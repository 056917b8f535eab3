internal import CInflightVips
public import InflightImages

extension VipsDecoder {
    /// The longest side that can be encoded.
    private static let maximumSide = 16_384

    /// Encodes an AVIF image of eight bits without metadata, with alpha unless the pixel format is opaque.
    ///
    /// The same pixels and options produce the same bytes. Any thread may call it. It takes some tenths of a second per
    /// million pixels and cannot be cancelled. Starts libvips if necessary.
    ///
    /// - Parameters:
    ///   - pixels: at most 16,384 pixels per side.
    ///   - options: the quality is 60 if nil. Above 90, chroma is not subsampled.
    /// - Throws: ``LoadError/Code/unsupportedFormat`` for any other format, ``LoadError/Code/cannotEncode`` for an
    ///   invalid quality, an image that is too large, or metadata.
    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try Self.start()
        guard Self.encodableFormats.contains(options.format) else { throw CodecError.noEncoder(options.format) }
        guard options.metadata?.isEmpty ?? true else { throw CodecError.metadataUnsupported(options.format) }
        let quality = options.quality ?? 60
        guard (1...100).contains(quality) else {
            throw CodecError.cannotEncode(.avif, "the quality is \(quality), and must be 1 to 100")
        }
        guard pixels.width <= Self.maximumSide, pixels.height <= Self.maximumSide else {
            throw CodecError.cannotEncode(
                .avif,
                "it has \(pixels.width) × \(pixels.height) pixels; the limit per side is \(Self.maximumSide)")
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
        guard status == 0, let memory = unsafe memory else {
            throw CodecError.cannotEncode(.avif, "its encoder failed. Choose jpeg, png or webp")
                .caused(byLibrary: message.text)
        }
        return unsafe Bytes(adopting: UnsafeRawBufferPointer(start: memory, count: count)) { memory in
            unsafe inflight_vips_free(UnsafeMutableRawPointer(mutating: memory.baseAddress))
        }
    }
}

extension PixelBuffer {
    /// The same pixels without padding between rows.
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
