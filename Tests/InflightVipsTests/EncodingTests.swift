import InflightConcurrency
import InflightCore
import InflightPictures
import InflightVips
import Testing

@Suite("AVIF encoding", .timeLimit(.minutes(10)))
struct EncodingTests {
    private func write(_ pixels: PixelBuffer, quality: Int? = nil) throws -> [UInt8] {
        try VipsDecoder().encode(pixels, options: EncodeOptions(format: .avif, quality: quality)).array
    }

    private let opaque = PixelBuffer(width: 16, height: 12, format: .rgbx, Scene.color)
    private let withAlpha = PixelBuffer(width: 16, height: 12, format: .rgba, Scene.withAlpha)

    @Test("An encoded image decodes again, whether opaque, straight or premultiplied")
    func roundTrip() throws {
        let file = try write(opaque, quality: 95)
        try validate(file)
        #expect(try info(file).format == .avif && !info(file).hasAlpha && info(file).width == 16)
        #expect(try decode(file).psnr(Scene.color) > 38)
        for form in [PixelBuffer.Format.rgba, .premultipliedBGRA] {
            let file = try write(withAlpha.converted(to: form), quality: 95)
            try validate(file)
            #expect(try info(file).hasAlpha)
            #expect(try decode(file).psnr(Scene.withAlpha) > 30)
        }
    }

    @Test("Encoding ignores row padding and supports odd sizes")
    func shapes() throws {
        let gaps = Bytes(
            (0..<12).flatMap { y in
                (0..<20).flatMap { x in
                    let pixel = x < 16 ? Scene.color(x, y) : SIMD4(0, 255, 0, 255)
                    return (0..<4).map { pixel[$0] }
                }
            })
        let pixels = PixelBuffer(width: 16, height: 12, bytesPerRow: 80, format: .rgbx, bytes: gaps)
        #expect(try write(pixels) == write(opaque))
        for (width, height) in [(1, 1), (1, 9), (17, 13), (2, 3)] {
            let pixels = PixelBuffer(width: width, height: height, format: .rgbx) { _, _ in SIMD4(200, 100, 50, 255) }
            let read = try decode(try write(pixels, quality: 90))
            #expect(read.width == width && read.height == height)
            #expect(read.psnr { _, _ in SIMD4(200, 100, 50, 255) } > 30)
        }
    }

    @Test("Encoding is deterministic, and lower quality gives a smaller file")
    func quality() throws {
        #expect(try write(opaque) == write(opaque) && write(opaque) == write(opaque, quality: 60))
        #expect(try write(opaque, quality: 10).count < write(opaque, quality: 90).count)
    }

    @Test("Encoding rejects an invalid quality, an unsupported format and an oversized image")
    func refused() {
        #expect(code { _ = try write(opaque, quality: 0) } == .cannotEncode)
        #expect(code { _ = try write(opaque, quality: 101) } == .cannotEncode)
        for format in [ImageFormat.heic, .jpeg, .jpegXL] {
            #expect(
                code { _ = try VipsDecoder().encode(opaque, options: EncodeOptions(format: format)) }
                    == .unsupportedFormat)
        }
        let long = PixelBuffer(width: 16_385, height: 1, format: .rgbx) { _, _ in SIMD4(1, 2, 3, 255) }
        #expect(code { _ = try write(long) } == .cannotEncode)
    }

    @Test("Encoding rejects metadata unless it is empty")
    func metadata() {
        var options = EncodeOptions(format: .avif)
        options.metadata = ImageMetadata(xmpBytes: Bytes("<x/>"))
        let pixels = PixelBuffer(width: 4, height: 4) { _, _ in SIMD4(9, 9, 9, 255) }
        #expect(code { _ = try VipsDecoder().encode(pixels, options: options) } == .cannotEncode)
        options.metadata = ImageMetadata()
        #expect(code { _ = try VipsDecoder().encode(pixels, options: options) } == nil)
    }
}
