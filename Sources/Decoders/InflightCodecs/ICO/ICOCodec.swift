public import InflightConcurrency
public import InflightImages

/// A codec that reads Windows icons and cursors: the largest image, among equals the one with most
/// colours, which is a bitmap with its mask or a PNG.
///
/// Encoding is not supported.
public struct ICOCodec: ImageCodec {
    /// Creates a codec. It has no state, so all values are alike.
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.ico] }
    public var encodableFormats: Set<ImageFormat> { [] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try ICOStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try ICOStructure.wholeHeader(bytes).walk(bytes)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let icon = try ICOStructure.wholeHeader(bytes)
        switch icon.picture {
        case .png:
            guard bytes.count >= icon.place.upperBound else { throw CodecError.truncated(.ico) }
            return try PNGCodec().decode(
                bytes.part(icon.place), format: .png, options: options, cancellation: cancellation)
        case .bitmap(let structure):
            return try unsafe icon.decode(bytes, options: options, cancellation: cancellation) {
                (_, plan, target) throws(LoadError) in
                try unsafe BMPDecoding(
                    bytes, structure, plan: plan, target: target, cancellation: cancellation, format: .ico,
                    maskStart: try icon.maskStart(structure, bytes)
                ).run()
            }
        }
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw CodecError.noEncoder(.ico)
    }
}
