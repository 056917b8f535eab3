import InflightCore
import InflightPictures
import Testing

@Suite(.timeLimit(.minutes(10)))
struct EncodingTests {
    static let photo = PixelBuffer(width: 61, height: 43, format: .rgbx) { x, y in
        SIMD4(UInt8(x * 4), UInt8(y * 5), UInt8((x + y) * 2), 255)
    }
    static let transparent = PixelBuffer(width: 61, height: 43, format: .rgba) { x, y in
        SIMD4(UInt8(x * 4), UInt8(y * 5), UInt8((x + y) * 2), x < 20 ? 0 : UInt8(x * 4))
    }

    private func encode(
        _ pixels: PixelBuffer, _ format: ImageFormat, quality: Int? = nil
    ) throws(LoadError) -> [UInt8] {
        try registry.encode(pixels, options: EncodeOptions(format: format, quality: quality)).array
    }

    @Test("Encoded images decode to similar pixels", arguments: [(ImageFormat.png, 100.0), (.jpeg, 38), (.webp, 38)])
    func roundTrip(_ format: ImageFormat, _ least: Double) throws {
        let file = try encode(Self.photo, format)
        #expect(try registry.validate(Bytes(file)).format == format)
        let pixels = try decode(file)
        #expect(pixels.width == 61 && pixels.height == 43 && pixels.format.alpha == .opaque)
        #expect(pixels.psnr { Self.photo[$0, $1] } >= least)
    }

    @Test("Alpha is preserved in formats that support it", arguments: [(ImageFormat.png, 100.0), (.webp, 35)])
    func alpha(_ format: ImageFormat, _ least: Double) throws {
        let pixels = try decode(try encode(Self.transparent, format))
        #expect(pixels.format.alpha == .straight)
        #expect(pixels.psnr { Self.transparent[$0, $1] } >= least)
        for x in 0..<61 { #expect(pixels[x, 20][3] == Self.transparent[x, 20][3]) }
    }

    @Test("JPEG encoding blends alpha with the background colour, white by default")
    func background() throws {
        var options = EncodeOptions(format: .jpeg, quality: 95)
        options.background = [255, 0, 0]
        let pixels = try decode(try registry.encode(Self.transparent, options: options).array)
        let corner = pixels[2, 2]
        #expect(corner[0] > 245 && corner[1] < 10 && corner[2] < 10)
        let white = try decode(try encode(Self.transparent, .jpeg))
        #expect(white[2, 2][1] > 245)
    }

    @Test(
        "Each byte order and alpha format encodes to the same image", arguments: [ImageFormat.png, .jpeg, .webp])
    func formats(_ format: ImageFormat) throws {
        let expected = try decode(try encode(Self.transparent, format))
        for order in [PixelBuffer.Format.Order.rgba, .bgra] {
            for alpha in [PixelBuffer.Format.Alpha.straight, .premultiplied] {
                let pixels = Self.transparent.converted(to: .init(order: order, alpha: alpha))
                let decoded = try decode(try encode(pixels, format))
                #expect(decoded.psnr { expected[$0, $1] } >= (alpha == .straight ? 100 : 40))
            }
        }
    }

    @Test(
        "Encoding is deterministic, and higher quality gives a larger file", arguments: [ImageFormat.jpeg, .webp])
    func deterministic(_ format: ImageFormat) throws {
        #expect(try encode(Self.photo, format) == encode(Self.photo, format))
        let usual = try encode(Self.photo, format)
        #expect(try encode(Self.photo, format, quality: format == .jpeg ? 85 : 80) == usual)
        #expect(try encode(Self.photo, format, quality: 98).count > usual.count)
        #expect(try encode(Self.photo, format, quality: 20).count < usual.count)
    }

    @Test("A progressive JPEG decodes to the same pixels as a sequential one")
    func progressive() throws {
        var options = EncodeOptions(format: .jpeg)
        options.isProgressive = true
        let file = try registry.encode(Self.photo, options: options)
        #expect(try registry.info(of: file).isProgressive)
        let usual = try decode(try encode(Self.photo, .jpeg))
        #expect(try decode(file.array).psnr { usual[$0, $1] } == 100)
    }

    @Test("Lossless WebP keeps every pixel, also if transparent, and lossless JPEG is rejected")
    func lossless() throws {
        var options = EncodeOptions(format: .webp)
        options.isLossless = true
        for source in [Self.photo, Self.transparent] {
            let pixels = try decode(try registry.encode(source, options: options).array)
            #expect((0..<43).allSatisfy { y in (0..<61).allSatisfy { pixels[$0, y] == source[$0, y] } })
        }
        options.format = .jpeg
        let refusal = #expect(throws: LoadError.self) { try registry.encode(Self.photo, options: options) }
        #expect(refusal?.code == .cannotEncode)
    }

    @Test("Encoding rejects an oversized image, an invalid quality and an unsupported format")
    func limits() throws {
        let wide = PixelBuffer(width: 66_000, height: 1, format: .rgbx) { _, _ in SIMD4(1, 2, 3, 255) }
        let error = #expect(throws: LoadError.self) { try encode(wide, .jpeg) }
        #expect(error?.code == .cannotEncode && error?.stage == .encode)
        #expect(throws: LoadError.self) { try encode(wide, .webp) }
        let same = try decode(try encode(wide, .png))
        #expect(same.width == 66_000 && same[65_999, 0] == SIMD4(1, 2, 3, 255))
        #expect(throws: LoadError.self) { try encode(Self.photo, .jpeg, quality: 0) }
        #expect(throws: LoadError.self) { try encode(Self.photo, .webp, quality: 101) }
        let unknown = #expect(throws: LoadError.self) { try encode(Self.photo, .gif) }
        #expect(unknown?.code == .unsupportedFormat)
    }

    @Test("Encoding ignores row padding", arguments: [ImageFormat.png, .jpeg, .webp])
    func padding(_ format: ImageFormat) throws {
        let stride = 61 * 4 + 20
        var memory = [UInt8](repeating: 0xEE, count: stride * 43)
        for y in 0..<43 {
            for x in 0..<61 {
                for channel in 0..<4 { memory[y * stride + x * 4 + channel] = Self.photo[x, y][channel] }
            }
        }
        let padded = PixelBuffer(width: 61, height: 43, bytesPerRow: stride, format: .rgbx, bytes: Bytes(memory))
        #expect(try encode(padded, format) == encode(Self.photo, format))
    }
}
