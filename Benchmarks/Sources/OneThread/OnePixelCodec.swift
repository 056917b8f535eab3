import Inflight
import InflightConcurrency
import InflightCore

/// A codec that decodes all bytes with PNG's signature to one pixel.
struct OnePixelCodec: ImageCodec {
    var decodableFormats: Set<ImageFormat> { [.png] }
    var encodableFormats: Set<ImageFormat> { [] }
    private static let pixels = PixelBuffer(
        width: 1, height: 1, bytesPerRow: 4, format: .rgbx, bytes: Bytes([0, 0, 0, 255]))

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        .info(ImageInfo(format: .png, storedWidth: 1, storedHeight: 1))
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {}

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        Self.pixels
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw LoadError(.cannotEncode, stage: .encode, message: "This codec does not encode.")
    }
}
