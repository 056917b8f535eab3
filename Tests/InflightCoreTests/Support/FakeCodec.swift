import InflightConcurrency
import InflightCore

/// A codec without image data: it reads a PNG signature, a width, a height and any padding. It counts its decodes.
final class FakeCodec: ImageCodec {
    enum Parts {
        case none
        /// The detail of each partial image is the number of bytes received.
        case growing
        case final
    }

    let decodes = Counter()
    let encodes = Counter()
    private let parts: Parts
    private let isDamaged: Bool
    /// Called during every decode, on its thread.
    private let onDecode: @Sendable () -> Void

    init(parts: Parts = .none, isDamaged: Bool = false, onDecode: @escaping @Sendable () -> Void = {}) {
        self.parts = parts
        self.isDamaged = isDamaged
        self.onDecode = onDecode
    }

    var decodableFormats: Set<ImageFormat> { [.png] }
    var encodableFormats: Set<ImageFormat> { [.png] }

    static func picture(width: UInt8 = 4, height: UInt8 = 3, padding: Int = 0) -> Bytes {
        Bytes(
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, width, height] + [UInt8](repeating: 7, count: padding))
    }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        guard bytes.count >= 10 else { return .needsMoreBytes(10) }
        return .info(
            ImageInfo(format: .png, storedWidth: Int(bytes[8]), storedHeight: Int(bytes[9]), colorModel: .rgb))
    }

    /// An image whose last byte makes it corrupt: in its structure, or in its pixels only.
    static func broken(inStructure: Bool) -> Bytes {
        Bytes(picture().array + [7, inStructure ? 0 : 1])
    }

    private static func check(_ bytes: Bytes, upTo last: UInt8) throws(LoadError) {
        guard bytes.count > 10, bytes[bytes.count - 1] <= last else { return }
        throw LoadError(.damaged, stage: .decode, message: "Broken.")
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) { try Self.check(bytes, upTo: 0) }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        decodes.add()
        onDecode()
        if cancellation.isCancelled { throw LoadError(.cancelled, stage: .decode, message: "Cancelled.") }
        try Self.check(bytes, upTo: 1)
        if isDamaged { throw LoadError(.damaged, stage: .decode, message: "Damaged.") }
        let width = options.resize?.width ?? Int(bytes[8])
        let height = options.resize?.height ?? Int(bytes[9])
        return Self.pixels(width: width, height: height)
    }

    func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        guard parts != .none else { return nil }
        let pixels = Self.pixels(
            width: options.resize?.width ?? Int(bytes[8]), height: options.resize?.height ?? Int(bytes[9]))
        return PartialImage(pixels: pixels, detail: bytes.count, coversAll: true, isFinal: parts == .final)
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        encodes.add()
        return Self.picture(width: UInt8(pixels.width), height: UInt8(pixels.height))
    }

    static func pixels(width: Int, height: Int) -> PixelBuffer {
        let bytes = Bytes([UInt8](repeating: 255, count: width * height * 4))
        return PixelBuffer(width: width, height: height, bytesPerRow: width * 4, format: .rgbx, bytes: bytes)
    }
}

/// A processor that leaves pixels unchanged, counts its runs and calls the closures of the test.
struct FakeProcessor: ImageProcessing {
    var name: String
    let runs = Counter()
    var onIdentity: @Sendable () -> Void = {}
    var onProcess: @Sendable (PixelBuffer) throws(LoadError) -> PixelBuffer = { pixels in pixels }

    var identity: String {
        onIdentity()
        return name
    }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        runs.add()
        return try onProcess(pixels)
    }
}
