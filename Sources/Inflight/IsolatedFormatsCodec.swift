internal import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightWorker

/// AVIF, HEIC, JPEG XL, TIFF and SVG: their headers are read in the program, their pixels come from decoders in processes of
/// their own, or not at all.
struct IsolatedFormatsCodec: ImageCodec {
    /// `nil`: everything is to be decoded in the program, which has no decoders of these formats.
    let pool: DecoderPool?
    let drawsSVG: Bool

    var decodableFormats: Set<ImageFormat> { IsolatedFormats.formats }
    var encodableFormats: Set<ImageFormat> { pool == nil ? [] : [.avif] }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try IsolatedFormats.probe(bytes, format: format, isComplete: isComplete)
    }

    func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        try IsolatedFormats.info(bytes, format: format, page: page)
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try IsolatedFormats.validate(bytes, format: format)
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard let pool else {
            throw LoadError(
                .unsupportedFormat, stage: .decode,
                message:
                    "Pictures in the format \(format) are decoded in a process of their own alone, and this program "
                    + "wants none. Let decoding be auto or worker.")
        }
        guard format != .svg || drawsSVG else {
            throw LoadError(
                .unsupportedFormat, stage: .decode,
                message:
                    "This is an svg drawing, and drawings are made only where that is asked for: drawsSVG, or --svg.")
        }
        var options = options
        // Nothing is lost by it: a drawing is made at the size that is wanted.
        if format == .svg { options.resize?.enlarges = true }
        return try pool.decode(bytes, format: format, options: options, cancellation: cancellation)
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        guard let pool else { throw PictureError.notWritten(options.format) }
        return try pool.encode(pixels, options: options)
    }
}
