import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightVips

/// The formats that are decoded only in a separate process. One module reads their headers, another their pixels.
struct IsolatedCodec: ImageCodec {
    private let chosen: Set<ImageFormat>

    /// - Parameter decodableFormats: the formats to serve, as far as the library has the components for them.
    init(decodableFormats: Set<ImageFormat> = VipsDecoder.decodableFormats) {
        chosen = decodableFormats
    }

    var decodableFormats: Set<ImageFormat> { VipsPart.decodableFormats(with: VipsPart.present).intersection(chosen) }
    var encodableFormats: Set<ImageFormat> { VipsPart.encodableFormats(with: VipsPart.present).intersection(chosen) }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        try IsolatedFormats.probe(bytes, format: format, isComplete: isComplete)
    }

    func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        try IsolatedFormats.info(bytes, format: format, page: page)
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        try IsolatedFormats.validate(bytes, format: format)
        try VipsDecoder().validate(bytes, format: format)
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
        let info = try info(bytes, format: format, page: options.page)
        return try VipsDecoder().decode(
            bytes, format: format, info: info, options: options, cancellation: cancellation)
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        try VipsDecoder().encode(pixels, options: options)
    }
}
