import InflightConcurrency
import InflightCore
import Synchronization

/// The number of decodes and processors that are running, and its maximum.
final class WorkMeter: Sendable {
    private let current = Atomic<Int>(0)
    private let most = Atomic<Int>(0)

    var maximum: Int { most.load(ordering: .relaxed) }

    func during<Output, Failure: Error>(_ work: () throws(Failure) -> Output) throws(Failure) -> Output {
        let now = current.add(1, ordering: .relaxed).newValue
        most.max(now, ordering: .relaxed)
        defer { current.subtract(1, ordering: .relaxed) }
        return try work()
    }
}

/// A codec that decodes the bytes of an item into an image that identifies it.
struct StampCodec: ImageCodec {
    let meter: WorkMeter

    var decodableFormats: Set<ImageFormat> { [.png] }
    var encodableFormats: Set<ImageFormat> { [] }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        guard bytes.count >= 12 else { return .needsMoreBytes(12) }
        return .info(
            ImageInfo(format: .png, storedWidth: Int(bytes[8]), storedHeight: Int(bytes[9]), colorModel: .rgb))
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {}

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        try meter.during { () throws(LoadError) in
            if cancellation.isCancelled { throw LoadError(.cancelled, stage: .decode, message: "Cancelled.") }
            let size = options.resize?.width ?? 0
            return Stamp(number: bytes[10], view: bytes[11] * 16 + UInt8(size), marks: 0)
                .pixels(width: size == 0 ? 2 : size)
        }
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw LoadError(.cannotEncode, stage: .encode, message: "This codec does not encode.")
    }
}

/// A processor that writes its number into the image.
struct Mark: ImageProcessing {
    let number: UInt8

    var identity: String { number == 1 ? "mark 1" : "mark 2" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        if cancellation.isCancelled { throw LoadError(.cancelled, stage: .process, message: "Cancelled.") }
        var stamp = Stamp(pixels)
        stamp.marks = stamp.marks * 4 + number
        return stamp.pixels(width: pixels.width)
    }
}
