import Inflight
import InflightConcurrency
import Testing

@testable import InflightDemo

@Suite("Gallery images of the demo", .timeLimit(.minutes(10)))
struct GalleryTests {
    @Test("Gallery images have unique names and cover every format and scene") func coverage() {
        let plans = Gallery.plans
        #expect(Set(plans.map(\.name)).count == plans.count)
        #expect(Set(plans.map(\.format)) == [.jpeg, .png, .webp, .gif])
        #expect(Set(plans.map(\.scene)) == Set(Scene.allCases))
    }

    @Test("A gallery image of each format decodes to its scene", arguments: [ImageFormat.jpeg, .png, .webp, .gif])
    func decoding(format: ImageFormat) throws {
        let plan = Gallery.Plan(scene: .lake, width: 90, height: 60, format: format, seed: 3, name: "lake")
        let item = try Gallery.item(plan).get()
        let info = try CodecRegistry.standard.validate(item.bytes)
        #expect(info.format == format)
        let (pixels, _) = try CodecRegistry.standard.decode(
            item.bytes, options: DecodeOptions(), cancellation: CancellationFlag())
        let painted = Scene.lake.picture(width: 90, height: 60, seed: 3)
        #expect(pixels.width == 90 && pixels.height == 60)
        #expect(meanDifference(pixels, painted) < 4)
    }

    @Test("Noise that fills the code table survives GIF") func noise() throws {
        // As many different codes as possible, so that the table fills and restarts several times.
        var dice = Dice(seed: 5)
        let noise = PixelBuffer(
            width: 200, height: 150, bytesPerRow: 800, format: .rgbx,
            bytes: Bytes(
                (0..<120_000).map { place in
                    let steps = [5, 6, 5, 1][place % 4]
                    return place % 4 == 3 ? 255 : UInt8(dice.int(0...steps) * 255 / steps)
                }))
        let bytes = GIFEncoder.encode(noise)
        let (pixels, _) = try CodecRegistry.standard.decode(
            bytes, options: DecodeOptions(), cancellation: CancellationFlag())
        // All of its colours are in the encoder's table.
        #expect(pixels.bytes == noise.bytes)
    }

    /// Returns the mean difference of blocks of 3 × 3 pixels, across which the colours of a GIF are dithered.
    private func meanDifference(_ left: PixelBuffer, _ right: PixelBuffer) -> Double {
        var sum = 0
        for top in stride(from: 0, to: left.height, by: 3) {
            for start in stride(from: 0, to: left.width, by: 3) {
                var difference = SIMD4<Int>.zero
                for y in top..<top + 3 {
                    for x in start..<start + 3 {
                        for channel in 0..<3 {
                            difference[channel] +=
                                Int(left.bytes[y * left.bytesPerRow + x * 4 + channel])
                                - Int(right.bytes[y * right.bytesPerRow + x * 4 + channel])
                        }
                    }
                }
                for channel in 0..<3 { sum += abs(difference[channel]) }
            }
        }
        return Double(sum) / Double(left.width * left.height * 3)
    }
}
