// A codec, as a template: a registered signature, a header that may be incomplete, limits that are checked before
// memory is allocated, cancellation, and the requested size and byte order.

import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport

extension ImageFormat {
    static let ppm = ImageFormat(rawValue: "ppm")
}

/// Reads binary PPM with 8 bits per sample: `P6`, the size and `255`, a line each, then red, green, blue of each pixel.
struct PPMCodec: ImageCodec {
    let decodableFormats: Set<ImageFormat> = [.ppm]
    let encodableFormats: Set<ImageFormat> = []
    let signatures = [FormatSignature(.ppm, Array("P6\n".utf8))]
    private let longestHeader = 32

    private func header(_ bytes: Bytes) throws(LoadError) -> (info: ImageInfo, length: Int) {
        let lines = bytes.part(0..<min(longestHeader, bytes.count)).array
            .split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let size = lines.dropFirst().first?.split(separator: " ").compactMap { Int($0) } ?? []
        // Untrusted: with these bounds, no product below overflows.
        guard lines.count == 4, lines[0] == "P6", lines[2] == "255", size.count == 2,
            size.allSatisfy({ (1...65_535).contains($0) })
        else { throw error(.damaged, "malformed header") }
        let length = lines[0...2].reduce(0) { $0 + $1.utf8.count + 1 }
        return (ImageInfo(format: .ppm, storedWidth: size[0], storedHeight: size[1]), length)
    }

    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult {
        do { return .info(try header(bytes).info) } catch {
            if isComplete || bytes.count >= longestHeader { throw error }
            return .needsMoreBytes(longestHeader)
        }
    }

    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError) {
        let (info, start) = try header(bytes)
        if bytes.count - start < info.width * info.height * 3 { throw error(.damaged, "truncated") }
    }

    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer {
        let (info, start) = try header(bytes)
        let plan = options.resize?.plan(sourceWidth: info.width, sourceHeight: info.height)
        // The limit applies to the image and, if it is enlarged, to the result.
        guard max(info.width * info.height, plan.map { $0.width * $0.height } ?? 0) <= options.maximumPixels else {
            throw error(.tooManyPixels, "more pixels than allowed")
        }
        try validate(bytes, format: format)
        let pixels = try PixelBuffer(width: info.width, height: info.height, format: .rgbx) {
            (target) throws(LoadError) in
            for pixel in 0..<info.width * info.height {
                if pixel % info.width == 0, cancellation.isCancelled { throw error(.cancelled, "cancelled") }
                for part in 0..<3 { target[pixel * 4 + part] = bytes[start + pixel * 3 + part] }
                target[pixel * 4 + 3] = 255
            }
        }
        let resized = plan.map { pixels.resized(to: $0) } ?? pixels
        return resized.converted(to: PixelBuffer.Format(order: options.order, alpha: .opaque))
    }

    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes {
        throw LoadError(.unsupportedFormat, stage: .encode, message: "Encoding to PPM is not supported.")
    }

    private func error(_ code: LoadError.Code, _ reason: String) -> LoadError {
        LoadError(code, stage: .decode, message: "Cannot decode the PPM image: \(reason).")
    }
}

let file = Bytes(Array("P6\n3 2\n255\n".utf8) + (1...18).map { UInt8($0 * 10) })
var configuration = ImagePipeline.Configuration()
configuration.codecs = .standard().adding(PPMCodec())
let pipeline = try ImagePipeline(configuration: configuration)
let source = ImageRequest.Source("scan.ppm") { .bytes(file) }
var request = ImageRequest(source: source, resize: Resize(width: 1, height: 1, fit: .fill))
request.pixelOrder = .bgra
let image = try await pipeline.image(for: request)
print("\(image.info.format), \(image.info.width) × \(image.info.height), decoded to \(image.pixels.bytes.array)")

let failures = await CodecConformance(PPMCodec(), samples: [.init("six pixels", file, format: .ppm)]).run()
print("violations of the contract: \(failures)")

// Prints:
// ppm, 3 × 2, decoded to [105, 95, 85, 255]
// violations of the contract: []
