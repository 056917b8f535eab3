public import InflightConcurrency
public import InflightImages

/// Reads BMP of 1 to 32 bits, with palettes, run lengths, bit fields with alpha, in either row order.
///
/// All Windows headers and that of OS/2 1.x are supported, with a file header or, as on the clipboard, without.
/// Embedded profiles are applied. Formats only for printers and fax machines throw a specific error. Encoding is not
/// supported. Of run-length encoded images all indices are held, of others one row. Pixels that runs skip have the
/// first colour.
public struct BMPCodec: ImageCodec {
    public init() {}

    public var decodableFormats: Set<ImageFormat> { [.bmp] }
    public var encodableFormats: Set<ImageFormat> { [] }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try BMPStructure.probe(bytes, isComplete: isComplete)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try BMPStructure.wholeHeader(bytes).walk(bytes)
    }

    /// Run-length encoded images hold all indices.
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
        throw PictureError.notWritten(.bmp)
    }
}
