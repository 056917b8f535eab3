public import InflightConcurrency
public import InflightCore

/// GIF by giflib: the first frame on its canvas, transparent where it does not cover it; all of an animation. Not written.
public struct GIFCodec: ImageCodec {
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.gif] }
    public var encodableFormats: Set<ImageFormat> { [] }

    /// In a part of an animation, the frames are counted that begin in it.
    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try GIFStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try GIFStructure.walk(bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let structure = try GIFStructure.wholeHeader(bytes)
        // A frame may be larger than the canvas that it is cut off by.
        var frame = structure.info(bytes)
        frame.storedWidth = structure.frameWidth
        frame.storedHeight = structure.frameHeight
        try frame.checkPixels(maximum: options.maximumPixels)
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (_, plan, target) throws(LoadError) in
            try GIFReader.with(bytes) { (reader) throws(LoadError) in
                try unsafe GIFDecoding(
                    reader: reader, structure: structure, plan: plan, target: target, cancellation: cancellation
                ).run()
            }
        }
    }

    public func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)? {
        try GIFAnimation(bytes, options: options)
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw PictureError.notWritten(.gif)
    }
}
