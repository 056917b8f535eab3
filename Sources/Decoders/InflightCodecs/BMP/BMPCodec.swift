public import InflightConcurrency
public import InflightCore

/// BMP: 1 to 32 bits, palettes, runs, bit fields with alpha, from top or bottom, all Windows headers and OS/2 1.x's; an
/// embedded profile is heeded. With a file's header or, as the clipboard has it, without.
/// What only printers and fax machines use is refused by name. Not written.
///
/// Of pictures in runs all indices are held, of others a row. Pixels that runs skip have the first colour.
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

    /// Of pictures in runs all indices are held.
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
