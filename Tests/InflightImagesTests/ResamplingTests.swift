import Glibc
import InflightImages
import Testing

/// Compares the resizer with a plain implementation of its filter in double precision.
@Suite(.timeLimit(.minutes(10)))
struct ResamplingTests {
    private typealias Picture = [[SIMD4<Double>]]

    private static func weights(_ count: Int, _ target: Int) -> [[Double]] {
        let ratio = Double(count) / Double(target)
        let stretch = max(1, ratio)
        return (0..<target).map { index in
            let center = (Double(index) + 0.5) * ratio
            let all = (0..<count).map { position -> Double in
                let x = abs(Double(position) + 0.5 - center) / stretch
                if x >= 3 { return 0 }
                if x < 1e-9 { return 1 }
                return 3 * sin(.pi * x) * sin(.pi * x / 3) / (.pi * .pi * x * x)
            }
            let sum = all.reduce(0, +)
            return all.map { $0 / sum }
        }
    }

    private static func reference(_ source: Picture, _ width: Int, _ height: Int) -> Picture {
        let across = weights(source[0].count, width)
        let down = weights(source.count, height)
        let rows = source.map { row in
            across.map { weights in
                weights.indices.reduce(SIMD4<Double>()) { weights[$1] == 0 ? $0 : $0 + weights[$1] * row[$1] }
            }
        }
        return down.map { weights in
            (0..<width).map { x in
                weights.indices.reduce(SIMD4<Double>()) { weights[$1] == 0 ? $0 : $0 + weights[$1] * rows[$1][x] }
            }
        }
    }

    private static func premultiplied(_ pixel: SIMD4<UInt8>, _ alpha: PixelBuffer.Format.Alpha) -> SIMD4<Double> {
        var result = SIMD4<Double>(pixel)
        if alpha == .straight {
            let scale = result[3] / 255
            result *= scale
            result[3] = Double(pixel[3])
        }
        return result
    }

    private static func noise(_ width: Int, _ height: Int, _ alpha: PixelBuffer.Format.Alpha) -> PixelBuffer {
        var state: UInt64 = 88_172_645_463_325_252
        func next() -> UInt8 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 24)
        }
        return unsafe PixelBuffer(width: width, height: height, format: .init(order: .rgba, alpha: alpha)) { memory in
            for y in 0..<height {
                for x in 0..<width {
                    // Noise and blocks, so that there are edges of every kind.
                    var pixel = SIMD4(next(), next(), next(), next())
                    if (x / 7 + y / 5) % 3 == 0 { pixel = SIMD4(250, UInt8(x & 255), UInt8(y & 255), 255) }
                    if alpha == .opaque { pixel[3] = 255 }
                    if alpha == .premultiplied {
                        for channel in 0..<3 { pixel[channel] = min(pixel[channel], pixel[3]) }
                    }
                    unsafe memory.storeBytes(of: pixel, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
    }

    private static func pixel(_ buffer: PixelBuffer, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
        let offset = y * buffer.bytesPerRow + 4 * x
        return SIMD4(
            buffer.bytes[offset], buffer.bytes[offset + 1], buffer.bytes[offset + 2], buffer.bytes[offset + 3])
    }

    private static func psnr(_ pixels: PixelBuffer, _ expected: Picture) -> Double {
        var sum = 0.0
        for y in 0..<pixels.height {
            for x in 0..<pixels.width {
                let limit = expected[y][x].clamped(lowerBound: .zero, upperBound: .init(repeating: 255))
                var wanted = limit
                if pixels.format.alpha != .opaque {
                    wanted = pointwiseMin(limit, SIMD4(repeating: limit[3]))
                }
                let difference = premultiplied(pixel(pixels, x, y), pixels.format.alpha) - wanted
                sum += (difference * difference).sum()
            }
        }
        return sum == 0 ? 100 : 10 * log10(255 * 255 * Double(pixels.width * pixels.height * 4) / sum)
    }

    struct Size: Sendable {
        var source: (Int, Int)
        var target: (Int, Int)
        var least: Double
    }

    static let sizes: [Size] = [
        Size(source: (64, 48), target: (26, 19), least: 57), Size(source: (61, 53), target: (60, 52), least: 57),
        Size(source: (40, 30), target: (97, 71), least: 57), Size(source: (33, 90), target: (66, 11), least: 57),
        Size(source: (100, 80), target: (7, 6), least: 57), Size(source: (5, 4), target: (1, 1), least: 52),
        Size(source: (1, 1), target: (5, 9), least: 57), Size(source: (3, 2), target: (2, 3), least: 57),
        // The resizer first averages blocks, which is not quite the same filter.
        Size(source: (300, 290), target: (12, 9), least: 42), Size(source: (517, 40), target: (19, 20), least: 42),
    ]

    @Test(
        "The resizer matches the filter in double precision", arguments: sizes.indices,
        [PixelBuffer.Format.Alpha.opaque, .straight, .premultiplied])
    func precise(_ index: Int, _ alpha: PixelBuffer.Format.Alpha) {
        let size = Self.sizes[index]
        let source = Self.noise(size.source.0, size.source.1, alpha)
        let exact = (0..<source.height).map { y in
            (0..<source.width).map { Self.premultiplied(Self.pixel(source, $0, y), alpha) }
        }
        let (width, height) = size.target
        let plan = Resize.Plan(scaledWidth: width, scaledHeight: height, width: width, height: height)
        let pixels = source.resized(to: plan)
        #expect(pixels.width == width && pixels.height == height && pixels.format == source.format)
        // Straight alpha is rounded once more when the colours are divided by it.
        let least = size.least - (alpha == .straight ? 3 : 0)
        #expect(Self.psnr(pixels, Self.reference(exact, width, height)) >= least)
    }

    @Test("Resizing keeps a uniform colour at every size and alpha")
    func plain() {
        for alpha in [UInt8(255), 128, 1] {
            let color = SIMD4<UInt8>(200, 100, 3, alpha)
            let source = unsafe PixelBuffer(width: 50, height: 40, format: .rgba) { memory in
                for index in 0..<2000 {
                    unsafe memory.storeBytes(of: color, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
                }
            }
            for (width, height) in [(1, 1), (2, 3), (17, 20), (49, 41), (120, 90), (50, 10)] {
                let plan = Resize.Plan(scaledWidth: width, scaledHeight: height, width: width, height: height)
                let pixels = source.resized(to: plan)
                for (x, y) in [(0, 0), (width - 1, height - 1), (width / 2, height / 2)] {
                    let found = SIMD4<Int>(truncatingIfNeeded: Self.pixel(pixels, x, y))
                    let difference = found &- SIMD4<Int>(truncatingIfNeeded: color)
                    let most = alpha == 1 ? 4 : 1
                    #expect(difference[3] == 0 && (0..<3).allSatisfy { abs(difference[$0]) <= most }, "\(difference)")
                }
            }
        }
    }

    @Test("A line of 1.1 million pixels keeps its colour in one pixel", arguments: [(1_100_000, 1), (1, 1_100_000)])
    func longLine(_ width: Int, _ height: Int) {
        let line = unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            unsafe memory.initializeMemory(as: UInt8.self, repeating: 255)
        }
        let dot = line.resized(
            to: Resize(width: 1, height: 1, fit: .fill).plan(sourceWidth: width, sourceHeight: height))
        #expect(Self.pixel(dot, 0, 0) == SIMD4(255, 255, 255, 255))
    }

    @Test("Resizing does not bleed colour from transparent pixels")
    func fringes() {
        let source = unsafe PixelBuffer(width: 40, height: 40, format: .rgba) { memory in
            for index in 0..<1600 {
                let pixel: SIMD4<UInt8> = index % 40 < 20 ? SIMD4(0, 255, 0, 0) : SIMD4(255, 0, 0, 255)
                unsafe memory.storeBytes(of: pixel, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
        let pixels = source.resized(to: Resize.Plan(scaledWidth: 13, scaledHeight: 13, width: 13, height: 13))
        for x in 0..<13 { #expect(Self.pixel(pixels, x, 6)[1] <= 1) }
    }

    @Test("A cropping plan yields the same part of the whole image")
    func crop() {
        let source = Self.noise(90, 70, .opaque)
        let whole = source.resized(to: Resize.Plan(scaledWidth: 31, scaledHeight: 40, width: 31, height: 40))
        let part = source.resized(
            to: Resize.Plan(scaledWidth: 31, scaledHeight: 40, cropX: 5, cropY: 9, width: 20, height: 13))
        for y in 0..<13 {
            for x in 0..<20 { #expect(Self.pixel(part, x, y) == Self.pixel(whole, x + 5, y + 9)) }
        }
        let cut = source.cropped(x: 3, y: 60, width: 80, height: 10)
        #expect(cut.width == 80 && Self.pixel(cut, 79, 9) == Self.pixel(source, 82, 69))
    }

    @Test("An image oriented and oriented back is unchanged", arguments: ImageInfo.Orientation.allCases)
    func orientation(_ orientation: ImageInfo.Orientation) {
        let source = Self.noise(45, 33, .opaque)
        let turned = source.oriented(orientation)
        #expect(turned.width == (orientation.swapsAxes ? 33 : 45))
        let back: ImageInfo.Orientation = orientation == .right ? .left : orientation == .left ? .right : orientation
        #expect(turned.oriented(back).bytes == source.bytes)
        #expect((turned.bytes == source.bytes) == (orientation == .up))
    }

    @Test("Pixel format conversion and flattening match their arithmetic definition")
    func conversion() {
        let source = Self.noise(16, 16, .straight)
        let premultiplied = source.converted(to: .premultipliedBGRA)
        let flat = source.flattened(onto: 10, 20, 30)
        for y in 0..<16 {
            for x in 0..<16 {
                let pixel = Self.pixel(source, x, y)
                let scale = Double(pixel[3]) / 255
                let found = Self.pixel(premultiplied, x, y)
                let over = Self.pixel(flat, x, y)
                for (channel, ground) in [10.0, 20, 30].enumerated() {
                    #expect(found[2 - channel] == UInt8((Double(pixel[channel]) * scale).rounded()))
                    let expected = Double(pixel[channel]) * scale + ground * (1 - scale)
                    #expect(abs(Double(over[channel]) - expected) <= 0.51)
                }
                #expect(found[3] == pixel[3] && over[3] == 255)
            }
        }
    }
}
