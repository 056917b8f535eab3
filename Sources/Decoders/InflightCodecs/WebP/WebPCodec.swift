public import InflightConcurrency
public import InflightImages

/// A codec that reads and writes WebP with libwebp: lossy and lossless, with and without alpha.
///
/// It decodes an animation's first frame, on its canvas, or all frames. To decode a lossy image without alpha at a
/// smaller size, its luminance and chroma planes are resized, each from its own resolution. The library's own scaling
/// is not used, because it averages. For resizing in linear light, the image is decoded to colours first. The whole
/// decoded frame is held while it is resized.
public struct WebPCodec: ImageCodec {
    /// Creates a codec. It has no state, so all values are alike.
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.webp] }
    public var encodableFormats: Set<ImageFormat> { [.webp] }

    /// Parses the header. In a truncated animation, it counts the frames that start in the available bytes.
    ///
    /// If the file has EXIF metadata, nearly the whole file is needed, because the metadata contain the orientation and
    /// are at the end of the file.
    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try WebPStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try WebPStructure.walk(bytes)
    }

    public func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata {
        WebPStructure.metadata(in: bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let structure = try WebPStructure.wholeHeader(bytes)
        guard structure.frame.upperBound <= bytes.count else { throw CodecError.truncated(.webp) }
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (_, plan, target) throws(LoadError) in
            let transform = structure.profile.flatMap { ColorTransform.forProfile(bytes.slice($0), kind: .rgb) }
            try unsafe WebPDecoding(
                bytes: bytes, structure: structure, plan: plan, target: target, transform: transform,
                cancellation: cancellation
            ).run()
        }
    }

    /// Returns an estimate in which lossless images count twice, because the library holds them while decoding and as
    /// output.
    public func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        guard case .header(let structure)? = try? WebPStructure.readHeader(bytes) else { return 0 }
        return DecodeMemory.bytes(for: info, options, perPixel: structure.isLossless ? 8 : info.hasAlpha ? 6 : 4)
    }

    /// Decodes the available rows of the first frame.
    ///
    /// Returns `nil` for an incomplete file with EXIF metadata, because the orientation is at the end of the file.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        guard case .header(var structure) = try WebPStructure.readHeader(bytes) else { return nil }
        structure.frame = structure.frame.clamped(to: 0..<bytes.count)
        let info = structure.info(bytes)
        return try unsafe info.makePart(options, coversAll: false, cancellation: cancellation) {
            (plan, target) throws(LoadError) in
            let transform = structure.profile.flatMap { ColorTransform.forProfile(bytes.slice($0), kind: .rgb) }
            return try unsafe WebPDecoding(
                bytes: bytes, structure: structure, plan: plan, target: target, transform: transform,
                cancellation: cancellation
            ).runPartial()
        }
    }

    public func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)? {
        try WebPAnimation(bytes, options: options)
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try WebPEncoding.encode(pixels, options: options)
    }
}
