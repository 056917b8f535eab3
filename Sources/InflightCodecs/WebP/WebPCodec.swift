public import InflightConcurrency
public import InflightCore

/// WebP by libwebp: lossy and lossless, with and without alpha; of an animation the first frame, on its canvas,
/// or all.
///
/// A lossy picture without alpha that is wanted smaller is decoded to planes, each resized from its own resolution; the
/// library's own scaling is not used, because it averages. All of the decoded frame is held while it is resized.
public struct WebPCodec: ImageCodec {
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.webp] }
    public var encodableFormats: Set<ImageFormat> { [.webp] }

    /// In a part of an animation, the frames are counted that begin in it. EXIF metadata, which tells the orientation,
    /// stands at a file's end: where there is some, nearly all of the file is asked for.
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
        guard structure.frame.upperBound <= bytes.count else { throw PictureError.cutShort(.webp) }
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (_, plan, target) throws(LoadError) in
            try unsafe WebPDecoding(
                bytes: bytes, structure: structure, plan: plan, target: target, cancellation: cancellation
            ).run()
            if let transform = structure.profile.flatMap({ ColorTransform.forProfile(bytes.slice($0), kind: .rgb) }) {
                unsafe transform.apply(target, pixelCount: plan.width * plan.height)
            }
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
