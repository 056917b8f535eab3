import InflightConcurrency
import InflightCore
import InflightImages
import Testing

@testable import InflightBatch

@Suite("Blurring of boxes", .timeLimit(.minutes(1)))
struct BoxBlurTests {
    private static let (width, height) = (90, 70)

    private func blurred(_ pixels: PixelBuffer, _ boxes: String) throws -> PixelBuffer {
        try BoxBlur(boxes: BlurBox.list(boxes))(pixels, cancellation: CancellationFlag())
    }

    /// An image whose red channel is noise.
    private static func noise(alpha: (Int) -> UInt8 = { _ in 255 }, _ format: PixelBuffer.Format = .rgbx) -> PixelBuffer
    {
        var state: UInt32 = 1
        return unsafe PixelBuffer(width: width, height: height, format: format) { memory in
            for index in 0..<width * height {
                state = state &* 1_664_525 &+ 1_013_904_223
                let pixel = SIMD4<UInt8>(UInt8(state >> 24), 100, 0, alpha(index))
                unsafe memory.storeBytes(of: pixel, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
    }

    private func pixel(_ pixels: PixelBuffer, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
        unsafe pixels.withUnsafeBytes {
            unsafe $0.loadUnaligned(fromByteOffset: y * pixels.bytesPerRow + x * 4, as: SIMD4<UInt8>.self)
        }
    }

    @Test("Boxes are widened, blurred and mixed by the formulas of img2dataset, for the longest side of all boxes")
    func formulas() throws {
        let image = Self.noise()
        // 40 × 21 pixels from 27, 21, widened by 4; and 18 × 7 from -9, 0, widened by 1.8 and clipped.
        let found = try blurred(image, "[[0.3,0.3,0.75,0.6],[-0.1,0,0.1,0.1]]")
        let mask = unsafe PixelBuffer(width: Self.width, height: Self.height, format: .rgbx) { memory in
            for place in 0..<Self.width * Self.height {
                let (x, y) = (place % Self.width, place / Self.width)
                let first = (23..<71).contains(x) && (17..<46).contains(y)
                let second = (0..<10).contains(x) && (0..<8).contains(y)
                unsafe memory.storeBytes(of: first || second ? .max : 0, toByteOffset: place * 4, as: UInt32.self)
            }
        }
        let blur = ImageProcessor.blur(radius: 4)
        let (soft, shares) = (try blur.process(image), try blur.process(mask))
        for place in 0..<Self.width * Self.height {
            let (x, y) = (place % Self.width, place / Self.width)
            let share = Double(pixel(shares, x, y)[0]) / 255
            let wanted = Double(pixel(image, x, y)[0]) * (1 - share) + Double(pixel(soft, x, y)[0]) * share
            let pixel = pixel(found, x, y)
            #expect(abs(Double(pixel[0]) - wanted) < 1 && pixel[1] == 100 && pixel[3] == 255, "\(x), \(y)")
        }
    }

    @Test("Transparent pixels stay transparent, and their colours do not bleed into a box")
    func transparency() throws {
        let format = PixelBuffer.Format(order: .rgba, alpha: .straight)
        let image = Self.noise(alpha: { $0 % Self.width < 45 ? 0 : 255 }, format)
        let found = try blurred(image, "[[0.3,0.3,0.7,0.7]]")
        #expect(found.format == format)
        #expect(pixel(found, 2, 2)[3] == 0 && pixel(found, 88, 68) == pixel(image, 88, 68))
        let edge = pixel(found, 45, 35)
        #expect((100...156).contains(edge[3]) && (98...102).contains(edge[1]), "\(edge)")
    }

    @Test("A box of the whole image blurs it all, and one of less than a pixel nothing")
    func extremes() throws {
        let image = Self.noise()
        let all = try blurred(image, "[[-1e300,-5,1e300,5]]")
        for x in [0, 45, 89] { #expect((115...140).contains(pixel(all, x, 35)[0])) }
        let none = try blurred(image, "[[0.5,0.5,0.501,0.501]]")
        #expect(none.bytes == image.bytes)
    }
}
