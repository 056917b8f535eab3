public import InflightConcurrency
public import InflightCore

/// PNG by libpng: all kinds of it, 16 bits brought to 8; of an animation the picture that viewers of stills show, or all
/// of its frames.
///
/// A picture that is not interlaced is resized while its rows are read; of one that is, all pixels are held. Any wrong
/// checksum is damage. Orientation is taken from an `eXIf` chunk before the pixels. Colours: an embedded profile, else
/// `sRGB`, else `gAMA` and `cHRM` where they differ from sRGB; `cICP` is not heeded.
public struct PNGCodec: ImageCodec {
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.png] }
    public var encodableFormats: Set<ImageFormat> { [.png] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try PNGStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try PNGStructure.walk(bytes)
    }

    public func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata {
        PNGStructure.metadata(in: bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let structure = try PNGStructure.wholeHeader(bytes)
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (info, plan, target) throws(LoadError) in
            try PNGReader.with(bytes) { (reader) throws(LoadError) in
                try unsafe PNGDecoding(
                    reader: reader, info: info, plan: plan, target: target, cancellation: cancellation
                ).run()
            }
        }
    }

    public func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)? {
        try PNGAnimation(bytes, options: options)
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try options.check(.png)
        return try PNGEncoding.encode(pixels)
    }
}
