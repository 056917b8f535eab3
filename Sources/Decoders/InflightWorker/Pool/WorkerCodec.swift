public import InflightConcurrency
public import InflightCore

/// A codec that decodes another codec's formats in separate processes.
///
/// In this program, the other codec still reads headers and metadata, checks structures, and encodes. Animations are
/// opened as stills, because a process decodes no further frames. Decodes block as those of ``DecoderPool``.
public struct WorkerCodec: ImageCodec {
    private let codec: any ImageCodec
    private let pool: DecoderPool

    /// Creates a codec from another codec and a pool.
    ///
    /// - Parameters:
    ///   - codec: the codec whose formats are decoded.
    ///   - pool: the processes, whose program must decode these formats. Several codecs may share it.
    public init(_ codec: any ImageCodec, pool: DecoderPool) {
        self.codec = codec
        self.pool = pool
    }

    public var decodableFormats: Set<ImageFormat> { codec.decodableFormats }
    public var encodableFormats: Set<ImageFormat> { codec.encodableFormats }
    public var signatures: [FormatSignature] { codec.signatures }

    public func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try codec.probe(bytes, format: format, isComplete: isComplete)
    }

    public func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        try codec.info(bytes, format: format, page: page)
    }

    public func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try codec.validate(bytes, format: format)
    }

    public func hasEndMarker(_ bytes: Bytes, format: ImageFormat) -> Bool {
        codec.hasEndMarker(bytes, format: format)
    }

    public func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        codec.memoryNeeded(bytes, format: format, info: info, options: options)
    }

    public func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata {
        try codec.metadata(bytes, format: format)
    }

    public func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try pool.decode(bytes, format: format, options: options, cancellation: cancellation)
    }

    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        try pool.decodePart(bytes, format: format, options: options, beyond: detail, cancellation: cancellation)
    }

    /// Encodes in the program, because its own pixels are trusted.
    public func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try codec.encode(pixels, options: options)
    }
}
