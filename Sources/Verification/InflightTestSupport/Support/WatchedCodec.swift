package import InflightConcurrency
package import InflightImages

/// A codec of one format with hooks for a test, which decodes and encodes as another one does.
package struct WatchedCodec: ImageCodec {
    /// The estimate of the memory of each decode, in bytes; if nil, that of the other codec.
    package var memory: Int?
    /// Called at each estimate of memory.
    package var onEstimate: @Sendable () -> Void = {}
    /// Called inside each decode and verification, before it looks at its cancellation.
    package var onDecode: @Sendable () -> Void = {}

    private let format: ImageFormat
    private let codec: any ImageCodec

    /// Creates a codec without hooks.
    ///
    /// - Throws: `unsupportedFormat` if the registry does not decode the format.
    package init(_ format: ImageFormat, of registry: CodecRegistry) throws(LoadError) {
        guard let codec = registry.decoder(of: format) else {
            throw CodecError.unsupported(format, "an unregistered format")
        }
        self.format = format
        self.codec = codec
    }

    package var decodableFormats: Set<ImageFormat> { [format] }
    package var encodableFormats: Set<ImageFormat> { codec.encodableFormats.intersection([format]) }

    package func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try codec.probe(bytes, format: format, isComplete: isComplete)
    }

    package func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try codec.validate(bytes, format: format)
    }

    package func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        onDecode()
        if cancellation.isCancelled { throw .cancelled(url: nil, stage: .decode) }
        return try codec.decode(bytes, format: format, options: options, cancellation: cancellation)
    }

    package func memoryNeeded(
        _ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions
    ) -> Int {
        onEstimate()
        return memory ?? codec.memoryNeeded(bytes, format: format, info: info, options: options)
    }

    package func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try codec.encode(pixels, options: options)
    }
}
