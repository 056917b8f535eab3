internal import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightWorker

/// The codec of AVIF, HEIC, JPEG XL, TIFF and SVG. Headers are read in the program. Pixels are decoded only in decoder
/// processes.
struct IsolatedFormatsCodec: ImageCodec {
    /// The decoder processes; nil if all decoding is in the program, which cannot decode these formats.
    let pool: DecoderPool?
    let drawsSVG: Bool

    var decodableFormats: Set<ImageFormat> { IsolatedFormats.formats }
    /// AVIF, if a decoder program is installed. Only a running one knows whether its libraries encode.
    var encodableFormats: Set<ImageFormat> { pool?.isInstalled == true ? [.avif] : [] }

    /// A gzip file may contain an SVG image (RFC 1952 section 2.3.1).
    var signatures: [FormatSignature] { [FormatSignature(.svg, [0x1F, 0x8B, 8])] }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        guard try isCompressed(bytes, format) else {
            return try IsolatedFormats.probe(bytes, format: format, isComplete: isComplete)
        }
        return try CompressedSVG.probe(bytes, isComplete: isComplete)
    }

    func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        if page == 0, try isCompressed(bytes, format),
            case .info(let info) = try CompressedSVG.probe(bytes, isComplete: true)
        {
            return info
        }
        return try IsolatedFormats.info(try document(bytes, format), format: format, page: page)
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try IsolatedFormats.validate(try document(bytes, format), format: format)
        guard format == .jpegXL, let pool else { return }
        let options = DecodeOptions()
        let info = try info(bytes, format: format, page: 0)
        guard memoryNeeded(bytes, format: format, info: info, options: options) <= options.maximumMemory else { return }
        do throws(LoadError) {
            try pool.validate(bytes, format: format)
        } catch  where error.code == .damaged {
            throw error
        } catch {
            // Only the decoder can find the end of a codestream. If the decoder fails, the file is not rejected.
        }
    }

    func hasEndMarker(_ bytes: Bytes, format: ImageFormat) -> Bool {
        IsolatedFormats.hasEndMarker(bytes, format: format)
    }

    func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        IsolatedFormats.memoryNeeded(bytes, format: format, info: info, options: options)
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard let pool else {
            throw LoadError(
                .unsupportedFormat, stage: .decode,
                message:
                    "Decoding \(format) images requires a decoder process, which this configuration disables. "
                    + "Set decoding to auto or worker.")
        }
        guard format != .svg || drawsSVG else {
            throw LoadError(
                .unsupportedFormat, stage: .decode,
                message:
                    "This is an SVG image, and SVG rendering is off. Enable it with drawsSVG.")
        }
        let needed = memoryNeeded(
            bytes, format: format, info: try info(bytes, format: format, page: options.page), options: options)
        guard needed <= pool.maximumMemory else {
            throw CodecError.tooMuchMemory(
                needed, allowed: pool.maximumMemory, raising: "DecoderConfiguration.maximumMemory")
        }
        var options = options
        // Enlarging loses nothing, because an SVG image is rendered at the target size.
        if format == .svg { options.resize?.enlarges = true }
        return try pool.decode(
            try document(bytes, format), format: format, options: options, cancellation: cancellation)
    }

    /// Whether the bytes are an SVG image in gzip. Other compressed data is not an image, and SVG is decompressed only
    /// if rendering it is enabled.
    private func isCompressed(_ bytes: Bytes, _ format: ImageFormat) throws(LoadError) -> Bool {
        guard format == .svg, bytes.count >= 2, bytes[0] == 0x1F, bytes[1] == 0x8B else { return false }
        guard !drawsSVG else { return true }
        throw LoadError(
            .notAnImage, stage: .decode,
            message:
                "This is gzip data, not an image. If it is compressed SVG, enable SVG rendering with drawsSVG.")
    }

    private func document(_ bytes: Bytes, _ format: ImageFormat) throws(LoadError) -> Bytes {
        try isCompressed(bytes, format) ? try CompressedSVG.document(bytes) : bytes
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        guard let pool else { throw CodecError.noEncoder(options.format) }
        return try pool.encode(pixels, options: options)
    }
}
