import InflightConcurrency
import InflightTestSupport
import Testing

@testable import InflightImages

/// An animation of noise with every kind of frame that a file can have.
private struct NoiseSource: AnimationSource {
    var info: ImageInfo
    var loopCount: Int? { nil }
    var isCutShort: Bool { false }
    var frames: [AnimationFramePlan]
    var pixelsOfFrames: [[SIMD4<UInt8>]]
    let decoded = Guarded<[Int]>([])

    init(seed: UInt64, frames count: Int) {
        var generator = SeededGenerator(seed: seed)
        let (width, height) = (Int.random(in: 1...9, using: &generator), Int.random(in: 1...7, using: &generator))
        info = ImageInfo(format: .gif, storedWidth: width, storedHeight: height)
        frames = []
        pixelsOfFrames = []
        for _ in 0..<count {
            let isWhole = Int.random(in: 0..<3, using: &generator) == 0
            let x = isWhole ? 0 : Int.random(in: 0...width, using: &generator)
            let y = isWhole ? 0 : Int.random(in: 0...height, using: &generator)
            let hasAlpha = Int.random(in: 0..<3, using: &generator) > 0
            let plan = AnimationFramePlan(
                x: x, y: y, width: isWhole ? width : Int.random(in: 1...width, using: &generator),
                height: isWhole ? height : Int.random(in: 1...height, using: &generator), duration: .milliseconds(20),
                blending: [.over, .replace].randomElement(using: &generator)!,
                disposal: [.keep, .keep, .clear, .restore].randomElement(using: &generator)!, hasAlpha: hasAlpha)
            frames.append(plan)
            pixelsOfFrames.append(
                (0..<plan.width * plan.height).map { _ in
                    var pixel = SIMD4<UInt8>.random(in: 0...255, using: &generator)
                    pixel.w = hasAlpha ? [0, 1, 77, 128, 254, 255].randomElement(using: &generator)! : 255
                    return pixel
                })
        }
    }

    func pixels(ofFrame index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        decoded.withLock { $0.append(index) }
        let plan = frames[index]
        let bytes = pixelsOfFrames[index].flatMap { [$0.x, $0.y, $0.z, $0.w] }
        return PixelBuffer(
            width: plan.width, height: plan.height, bytesPerRow: plan.width * 4,
            format: plan.hasAlpha ? .rgba : .rgbx, bytes: Bytes(bytes))
    }

    /// All composed frames by a slow reference: from the start, pixel by pixel, in floating point.
    var composed: [[SIMD4<UInt8>]] {
        let (width, height) = (info.storedWidth, info.storedHeight)
        var canvas = [SIMD4<UInt8>](repeating: .zero, count: width * height)
        return frames.indices.map { index in
            let plan = frames[index]
            let before = canvas
            func each(_ change: (_ place: Int, _ pixel: SIMD4<UInt8>) -> Void) {
                for y in 0..<plan.height where plan.y + y < height {
                    for x in 0..<plan.width where plan.x + x < width {
                        change((plan.y + y) * width + plan.x + x, pixelsOfFrames[index][y * plan.width + x])
                    }
                }
            }
            each { place, pixel in
                canvas[place] = plan.blending == .replace ? pixel : Self.over(pixel, canvas[place])
            }
            let seen = canvas
            switch plan.disposal {
            case .keep: break
            case .clear: each { place, _ in canvas[place] = .zero }
            case .restore: canvas = before
            }
            return seen
        }
    }

    private static func over(_ top: SIMD4<UInt8>, _ below: SIMD4<UInt8>) -> SIMD4<UInt8> {
        let (a, b) = (Double(top.w) / 255, Double(below.w) / 255)
        let alpha = a + b * (1 - a)
        if alpha == 0 { return below }
        var result = SIMD4<UInt8>()
        for channel in 0..<3 {
            let mixed = (Double(top[channel]) * a + Double(below[channel]) * b * (1 - a)) / alpha
            result[channel] = UInt8(mixed.rounded())
        }
        result.w = UInt8((alpha * 255).rounded())
        return result
    }
}

@Suite("Frame composition", .timeLimit(.minutes(10)))
struct CompositionTests {
    /// The largest difference in a channel, of pixels that are visible in either image.
    private func difference(_ pixels: PixelBuffer, _ wanted: [SIMD4<UInt8>]) -> Int {
        let found = pixels.bytes.array
        return wanted.indices.map { place -> Int in
            let pixel = SIMD4(found[place * 4], found[place * 4 + 1], found[place * 4 + 2], found[place * 4 + 3])
            if pixel.w == 0, wanted[place].w == 0 { return 0 }
            return (0..<4).map { abs(Int(pixel[$0]) - Int(wanted[place][$0])) }.max() ?? 0
        }.max() ?? 0
    }

    @Test("Every blending, disposal, rectangle and alpha matches a slow reference in any order")
    func reference() throws {
        for seed in 0..<400 as Range<UInt64> {
            let source = NoiseSource(seed: seed, frames: 9)
            let wanted = source.composed
            let composer = try FrameComposer(source, options: DecodeOptions())
            var generator = SeededGenerator(seed: seed)
            let order = Array(0..<9) + (0..<12).map { _ in Int.random(in: 0..<9, using: &generator) }
            for index in order {
                let pixels = try composer.frame(at: index, cancellation: CancellationFlag())
                let found = difference(pixels, wanted[index])
                // Halves may be rounded either way.
                #expect(found <= 1, "seed \(seed), frame \(index)")
                if pixels.format.alpha == .opaque { #expect(wanted.allSatisfy { $0.allSatisfy { $0.w == 255 } }) }
            }
        }
    }

    @Test("Forward playback decodes each frame once")
    func forwards() throws {
        for seed in 0..<50 as Range<UInt64> {
            let source = NoiseSource(seed: seed, frames: 9)
            let composer = try FrameComposer(source, options: DecodeOptions())
            for index in 0..<9 { _ = try composer.frame(at: index, cancellation: CancellationFlag()) }
            #expect(source.decoded.withLock { $0 } == Array(0..<9))
        }
    }

    @Test("Seeking back starts at the nearest key frame")
    func backwards() throws {
        var source = NoiseSource(seed: 1, frames: 0)
        source.info = ImageInfo(format: .gif, storedWidth: 4, storedHeight: 4)
        func plan(_ side: Int, _ hasAlpha: Bool, _ disposal: AnimationFramePlan.Disposal) -> AnimationFramePlan {
            AnimationFramePlan(
                width: side, height: side, duration: .zero, disposal: disposal, hasAlpha: hasAlpha)
        }
        source.frames = [
            plan(4, false, .keep), plan(2, true, .keep), plan(4, true, .clear), plan(3, true, .restore),
            plan(2, true, .keep), plan(4, false, .restore), plan(3, true, .keep), plan(4, false, .keep),
            plan(1, true, .keep),
        ]
        source.pixelsOfFrames = source.frames.map {
            [SIMD4<UInt8>](repeating: SIMD4(1, 2, 3, 255), count: $0.width * $0.height)
        }
        // The canvas is cleared before frame 3, and restored to that state before frame 4. Frame 5 covers the canvas,
        // which is restored afterwards. Frame 7 covers the canvas for good.
        let order = FrameDependencies(source.frames, width: 4, height: 4)
        #expect((0..<9).map { order.keyFrame(before: $0) } == [0, 0, 0, 3, 4, 4, 4, 7, 7])
        let composer = try FrameComposer(source, options: DecodeOptions())
        for index in [8, 6, 1, 2] { _ = try composer.frame(at: index, cancellation: CancellationFlag()) }
        // Frames whose disposal clears or restores the canvas are not decoded on the way.
        #expect(source.decoded.withLock { $0 } == [7, 8, 4, 6, 0, 1, 2])
    }

    @Test("A frame cancelled halfway is composed from an intact canvas the next time")
    func afterCancel() throws {
        let source = NoiseSource(seed: 3, frames: 9)
        let composer = try FrameComposer(source, options: DecodeOptions())
        let flag = CancellationFlag()
        _ = try composer.frame(at: 4, cancellation: flag)
        flag.cancel()
        let error = #expect(throws: LoadError.self) { try composer.frame(at: 5, cancellation: flag) }
        #expect(error?.code == .cancelled)
        #expect(difference(try composer.frame(at: 5, cancellation: CancellationFlag()), source.composed[5]) <= 1)
    }
}
