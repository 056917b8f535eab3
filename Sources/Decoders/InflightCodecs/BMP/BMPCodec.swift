public import InflightConcurrency
public import InflightImages

/// A codec that reads BMP of 1 to 32 bits per pixel: palettes, run lengths, and bit fields with alpha, in either row
/// order.
///
/// All Windows headers and that of OS/2 1.x are supported, with a file header or, as on the clipboard, without.
/// Embedded profiles are applied. Formats only for printers and fax machines throw
/// ``LoadError/Code/unsupportedFormat``. Encoding is not supported. A decode holds all indices of a
/// run-length encoded image, and one row of any other. Pixels that runs skip have the first colour of the palette.
public struct BMPCodec: ImageCodec {
    /// Creates a codec. It has no state, so all values are alike.
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.bmp] }
    public var encodableFormats: Set<ImageFormat> { [] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try BMPStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try BMPStructure.wholeHeader(bytes).walk(bytes)
    }

    /// Returns an estimate with one byte per pixel, because a decode of run lengths holds all indices.
    public func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        DecodeMemory.bytes(for: info, options, perPixel: 1)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let structure = try BMPStructure.wholeHeader(bytes)
        return try unsafe structure.decode(bytes, options: options, cancellation: cancellation) {
            (_, plan, target) throws(LoadError) in
            try unsafe BMPDecoding(bytes, structure, plan: plan, target: target, cancellation: cancellation).run()
        }
    }

    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw CodecError.noEncoder(.bmp)
    }
}
