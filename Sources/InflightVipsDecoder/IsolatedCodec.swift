import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightVips

/// The formats that are decoded in a process of their own alone: their headers by one module, their pixels by another.
struct IsolatedCodec: ImageCodec {
    var decodableFormats = VipsDecoder.decodableFormats
    var encodableFormats: Set<ImageFormat> { VipsDecoder.encodableFormats.intersection(decodableFormats) }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try IsolatedFormats.probe(bytes, format: format, isComplete: isComplete)
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try IsolatedFormats.validate(bytes, format: format)
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        guard case .info(let info) = try probe(bytes, format: format, isComplete: true) else {
            throw PictureError.cutShort(format)
        }
        return try VipsDecoder().decode(
            bytes, format: format, info: info, options: options, cancellation: cancellation)
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try VipsDecoder().encode(pixels, options: options)
    }
}
