import Glibc
import InflightImages
import Testing

/// Compares resizing in linear light with a plain implementation in double precision.
@Suite("Linear-light resizing", .timeLimit(.minutes(10)))
struct LinearLightTests {
    private typealias Picture = [[SIMD4<Double>]]

    private static func light(_ sample: Double) -> Double {
        sample <= 0.04045 ? sample / 12.92 : pow((sample + 0.055) / 1.055, 2.4)
    }

    private static func sample(_ light: Double) -> Double {
        let light = min(max(light, 0), 1)
        return light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }

    private static func weights(_ count: Int, _ target: Int) -> [[Double]] {
        let ratio = Double(count) / Double(target)
        let stretch = max(1, ratio)
        return (0..<target).map { index in
            let center = (Double(index) + 0.5) * ratio
            let all = (0..<count).map { position -> Double in
                let x = abs(Double(position) + 0.5 - center) / stretch
                if x >= 3 { return 0 }
                return x < 1e-9 ? 1 : 3 * sin(.pi * x) * sin(.pi * x / 3) / (.pi * .pi * x * x)
            }
            let sum = all.reduce(0, +)
            return all.map { $0 / sum }
        }
    }

    /// Linear light premultiplied by alpha, from 0 to 1.
    private static func light(_ pixel: SIMD4<UInt8>, _ alpha: PixelBuffer.Format.Alpha) -> SIMD4<Double> {
        let share = alpha == .opaque ? 1 : Double(pixel[3]) / 255
        var result = SIMD4<Double>(repeating: share)
        for channel in 0..<3 {
            var color = Double(pixel[channel]) / 255
            if alpha == .premultiplied { color = share == 0 ? 0 : min(1, color / share) }
            result[channel] = light(color) * share
        }
        return result
    }

    /// Samples premultiplied by alpha, from 0 to 255, in which results are compared.
    private static func samples(_ light: SIMD4<Double>) -> SIMD4<Double> {
        let share = min(max(light[3], 0), 1)
        var result = SIMD4<Double>(repeating: share * 255)
        for channel in 0..<3 { result[channel] = share == 0 ? 0 : sample(light[channel] / share) * share * 255 }
        return result
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
                samples(weights.indices.reduce(SIMD4<Double>()) { $0 + weights[$1] * rows[$1][x] })
            }
        }
    }

    private static func picture(
        _ width: Int, _ height: Int, _ alpha: PixelBuffer.Format.Alpha = .opaque,
        _ pixel: (Int, Int) -> SIMD4<UInt8>
    ) -> PixelBuffer {
        unsafe PixelBuffer(width: width, height: height, format: .init(order: .rgba, alpha: alpha)) { memory in
            for index in 0..<width * height {
                var pixel = pixel(index % width, index / width)
                if alpha == .opaque { pixel[3] = 255 }
                if alpha == .premultiplied { pixel = pointwiseMin(pixel, SIMD4(repeating: pixel[3])) }
                unsafe memory.storeBytes(of: pixel, toByteOffset: index * 4, as: SIMD4<UInt8>.self)
            }
        }
    }

    private static func noise(_ width: Int, _ height: Int, _ alpha: PixelBuffer.Format.Alpha) -> PixelBuffer {
        var state: UInt64 = 88_172_645_463_325_252
        return picture(width, height, alpha) { x, y in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let bytes = SIMD4<UInt8>(truncatingIfNeeded: SIMD4(state >> 33, state >> 41, state >> 49, state >> 56))
            return (x / 7 + y / 5) % 3 == 0 ? SIMD4(250, UInt8(x & 255), UInt8(y & 255), 255) : bytes
        }
    }

    private static func pixel(_ pixels: PixelBuffer, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
        let offset = y * pixels.bytesPerRow + 4 * x
        return SIMD4(pixels.bytes[offset], pixels.bytes[offset + 1], pixels.bytes[offset + 2], pixels.bytes[offset + 3])
    }

    private static func psnr(_ pixels: PixelBuffer, _ expected: Picture) -> Double {
        var sum = 0.0
        for y in 0..<pixels.height {
            for x in 0..<pixels.width {
                var found = SIMD4<Double>(pixel(pixels, x, y))
                if pixels.format.alpha == .straight {
                    let share = found[3] / 255
                    for channel in 0..<3 { found[channel] *= share }
                }
                let difference = found - expected[y][x]
                sum += (difference * difference).sum()
            }
        }
        return sum == 0 ? 100 : 10 * log10(255 * 255 * Double(pixels.width * pixels.height * 4) / sum)
    }

    private static let sizes: [(source: (Int, Int), target: (Int, Int), least: Double)] = [
        ((64, 48), (26, 19), 50), ((61, 53), (60, 52), 50), ((40, 30), (97, 71), 50), ((33, 90), (66, 11), 50),
        ((100, 80), (7, 6), 50), ((5, 4), (1, 1), 50), ((1, 1), (5, 9), 50), ((3, 2), (2, 3), 50),
        // The resizer first averages blocks, which is not quite the same filter.
        ((300, 290), (12, 9), 40), ((517, 40), (19, 20), 40),
    ]

    @Test(
        "Linear-light resizing matches the filter in double precision", arguments: sizes.indices,
        [PixelBuffer.Format.Alpha.opaque, .straight, .premultiplied])
    func precise(_ index: Int, _ alpha: PixelBuffer.Format.Alpha) {
        let (size, target, least) = Self.sizes[index]
        let source = Self.noise(size.0, size.1, alpha)
        let exact = (0..<source.height).map { y in
            (0..<source.width).map { Self.light(Self.pixel(source, $0, y), alpha) }
        }
        let resize = Resize(width: target.0, height: target.1, fit: .exact, light: .linear)
        let pixels = source.resized(to: resize.plan(sourceWidth: size.0, sourceHeight: size.1))
        #expect(pixels.width == target.0 && pixels.height == target.1 && pixels.format == source.format)
        let found = Self.psnr(pixels, Self.reference(exact, target.0, target.1))
        #expect(found >= least, "\(size) to \(target)")
    }

    @Test("A chequerboard becomes its perceived grey in linear light and a darker grey otherwise")
    func chequer() {
        let source = Self.picture(64, 64) { x, y in SIMD4(repeating: (x + y) % 2 == 0 ? 0 : 255) }
        for (light, grey) in [(Resize.Light.linear, 188), (.encoded, 128)] {
            for side in [32, 16, 5, 1] {
                let resize = Resize(width: side, height: side, light: light)
                let pixels = source.resized(to: resize.plan(sourceWidth: 64, sourceHeight: 64))
                let middle = Self.pixel(pixels, side / 2, side / 2)
                for channel in 0..<3 { #expect(abs(Int(middle[channel]) - grey) <= 1, "\(light) \(side) \(middle)") }
                #expect(middle[3] == 255)
            }
        }
    }

    @Test("Linear-light resizing keeps every uniform colour, opaque or translucent")
    func plain() {
        for alpha in [UInt8(255), 128] {
            for level in stride(from: 0, through: 255, by: 1) {
                let color = SIMD4<UInt8>(UInt8(level), UInt8(level), UInt8(255 - level), alpha)
                let pixels = Self.picture(9, 7, .straight) { _, _ in color }
                    .resized(to: Resize.Plan(scaledWidth: 5, scaledHeight: 3, width: 5, height: 3, light: .linear))
                #expect(Self.pixel(pixels, 2, 1) == color)
            }
        }
    }

    @Test("A line of 1.1 million pixels keeps its colour in linear light", arguments: [(1_100_000, 1), (1, 1_100_000)])
    func longLine(_ width: Int, _ height: Int) {
        let line = Self.picture(width, height) { _, _ in SIMD4(repeating: 200) }
        let dot = line.resized(
            to: Resize(width: 1, height: 1, fit: .fill, light: .linear).plan(sourceWidth: width, sourceHeight: height))
        #expect(Self.pixel(dot, 0, 0) == SIMD4(200, 200, 200, 255))
    }

    @Test("A linear-light crop equals that part of the whole, and unscaled pixels stay unchanged")
    func crop() {
        let source = Self.noise(90, 70, .straight)
        var plan = Resize.Plan(scaledWidth: 31, scaledHeight: 40, width: 31, height: 40, light: .linear)
        let whole = source.resized(to: plan)
        (plan.cropX, plan.cropY, plan.width, plan.height) = (5, 9, 20, 13)
        let part = source.resized(to: plan)
        for y in 0..<13 {
            for x in 0..<20 { #expect(Self.pixel(part, x, y) == Self.pixel(whole, x + 5, y + 9)) }
        }
        let same = source.resized(
            to: Resize.Plan(scaledWidth: 90, scaledHeight: 70, cropX: 1, width: 80, height: 70, light: .linear))
        #expect(Self.pixel(same, 3, 3) == Self.pixel(source, 4, 3))
    }

    @Test("The light mode is part of the identity of sizes, plans and processors")
    func identity() {
        let usual = Resize(width: 10, height: 20, fit: .cover, gravity: .interest)
        var linear = usual
        linear.light = .linear
        #expect(usual != linear && DecodeOptions(resize: usual) != DecodeOptions(resize: linear))
        #expect(ImageProcessor.resize(usual) != .resize(linear))
        for fit in Resize.Fit.allCases {
            for width in [10, nil] {
                let resize = Resize(width: width, height: 20, fit: fit, light: .linear)
                #expect(resize.plan(sourceWidth: 40, sourceHeight: 30).light == .linear)
            }
        }
        #expect(Resize.points(width: 3, scale: 2, light: .linear).light == .linear)
    }
}
