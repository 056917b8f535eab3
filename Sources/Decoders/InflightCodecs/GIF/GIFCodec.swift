public import InflightConcurrency
public import InflightImages

/// A codec that reads GIF: the first frame, or all frames of an animation.
///
/// Behind a complete frame, a missing trailer is accepted, and other bytes in its place. The canvas is extended to hold
/// the first frame, and transparent outside it. Encoding is not supported.
public struct GIFCodec: ImageCodec {
    /// Creates a codec. It has no state, so all values are alike.
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.gif] }
    public var encodableFormats: Set<ImageFormat> { [] }

    /// Parses the header. In a truncated animation, it counts the frames that start in the available bytes.
    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try GIFStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try GIFStructure.walk(bytes)
    }

    public func hasEndMarker(_ bytes: Bytes, format: ImageFormat) -> Bool {
        var structure = GIFStructure()
        guard case .trailer? = try? structure.walk(bytes) else { return false }
        return true
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let structure = try GIFStructure.wholeHeader(bytes)
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (_, plan, target) throws(LoadError) in
            try unsafe GIFDecoding(
                bytes, structure: structure, plan: plan, target: target, cancellation: cancellation
            ).run()
        }
    }

    public func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        DecodeMemory.bytes(for: info, options, perPixel: info.isProgressive ? 1 : 0)
    }

    /// Decodes the available rows of the first frame. Those of an interlaced frame also fill the missing rows below
    /// them.
    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        let structure = try GIFStructure.wholeHeader(bytes)
        return try unsafe structure.info(bytes).makePart(options, coversAll: false, cancellation: cancellation) {
            (plan, target) throws(LoadError) in
            var filled: PartialImage.Filled?
            _ = try LoadError.upToDamage { () throws(LoadError) in
                filled = try unsafe GIFDecoding(
                    bytes, structure: structure, plan: plan, target: target, cancellation: cancellation
                ).runPartial()
            }
            return filled
        }
    }

    public func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)? {
        try GIFAnimation(bytes, options: options)
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw CodecError.noEncoder(.gif)
    }
}
