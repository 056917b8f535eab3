import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Animations: golden frames", .timeLimit(.minutes(10)))
struct GoldenFrameTests {
    private typealias Fixture = AnimationFixture

    private func open(_ bytes: [UInt8], _ options: DecodeOptions = DecodeOptions()) throws(LoadError) -> AnimatedImage {
        try registry.animation(of: Bytes(bytes), options: options)
    }

    @Test("The info gives size, frame count, durations and loop count", arguments: AnimationFixture.all)
    func info(fixture: AnimationFixture) throws {
        let info = try open(fixture.bytes).info
        #expect(info.width == Fixture.width && info.height == Fixture.height && !info.isCutShort)
        #expect(info.durations == Array(Fixture.durations.prefix(fixture.drawings.count)))
        #expect(info.loopCount == fixture.loopCount)
        let probed = try registry.info(of: Bytes(fixture.bytes))
        #expect(probed.frameCount == fixture.drawings.count && probed.format == info.format)
    }

    @Test("Every frame matches its drawing, in any order of access", arguments: AnimationFixture.all)
    func frames(fixture: AnimationFixture) async throws {
        let count = fixture.drawings.count
        for order in [Array(0..<count), Array((0..<count).reversed()), [2, 0, 1, 1, 2, 0, count - 1, 0]] {
            let image = try open(fixture.bytes)
            for index in order {
                let frame = try await image.frame(at: index)
                #expect(frame.index == index && frame.duration == Fixture.durations[index])
                #expect(frame.pixels.format == (fixture.isOpaque ? .rgbx : .rgba))
                expect(frame.pixels, fixture, index)
            }
        }
    }

    @Test("Size, byte order and premultiplied alpha apply to frames as to stills", arguments: AnimationFixture.all)
    func options(fixture: AnimationFixture) async throws {
        for resize in [
            Resize(width: 12, height: 20), Resize(width: 7, height: 9, fit: .cover),
            Resize(width: 5, height: 11, fit: .cover, gravity: .interest), Resize(width: 60, height: 50, fit: .exact),
        ] {
            var options = DecodeOptions(resize: resize)
            options.order = .bgra
            options.premultiplied = true
            let image = try open(fixture.bytes, options)
            let plan = resize.plan(sourceWidth: Fixture.width, sourceHeight: Fixture.height)
            for index in [1, 0] {
                let pixels = try await image.frame(at: index).pixels
                #expect(pixels.width == plan.width && pixels.height == plan.height)
                #expect(pixels.format == .init(order: .bgra, alpha: fixture.isOpaque ? .opaque : .premultiplied))
                guard index == 0, fixture.drawings == [0, 1, 2, 3] else { continue }
                // The first frame equals the decoded still image.
                let still = try registry.decode(
                    Bytes(fixture.bytes), options: options, cancellation: CancellationFlag()
                ).0
                #expect(still.converted(to: pixels.format).bytes == pixels.bytes)
            }
        }
    }

    private func expect(_ pixels: PixelBuffer, _ fixture: AnimationFixture, _ index: Int) {
        #expect(pixels.width == Fixture.width && pixels.height == Fixture.height)
        for y in 0..<Fixture.height {
            for x in 0..<Fixture.width {
                let offset = y * pixels.bytesPerRow + 4 * x
                let found = SIMD4((0..<4).map { pixels.bytes[offset + $0] })
                let wanted = fixture.color(index, x, y)
                // The colour of transparent pixels does not matter.
                guard found != wanted, found.w != 0 || wanted.w != 0 else { continue }
                Issue.record("\(fixture.name), frame \(index), \(x), \(y): \(found), not \(wanted)")
                return
            }
        }
    }

    @Test("Lossy frames with separate alpha are close to their drawings, with exact alpha")
    func lossy() async throws {
        var fixture = AnimationFixture(name: "", bytes: AnimationFixture.lossyWebP, loopCount: 5)
        fixture.hasFaintRectangles = true
        let image = try open(fixture.bytes)
        #expect(image.info.loopCount == 5)
        for index in [3, 0, 2, 1] {
            let pixels = try await image.frame(at: index).pixels
            for y in 0..<Fixture.height {
                for x in 0..<Fixture.width {
                    #expect(pixels.bytes[y * pixels.bytesPerRow + 4 * x + 3] == fixture.color(index, x, y).w)
                }
            }
            let (x, y) = (5 + 4 * index, 3 + 2 * index)
            for channel in 0..<3 {
                let found = Int(pixels.bytes[y * pixels.bytesPerRow + 4 * x + channel])
                #expect(abs(found - Int(fixture.color(index, x, y)[channel])) < 32)
            }
        }
    }

    @Test("A still image opens as a single frame")
    func still() async throws {
        for bytes in [Fixtures.baselineJPEG, Fixtures.rgbaPNG, Fixtures.lossyWebP, Fixtures.interlacedGIF] {
            let image = try open(bytes, DecodeOptions(resize: Resize(width: 9)))
            #expect(image.frameCount == 1)
            let alone = try decode(bytes, DecodeOptions(resize: Resize(width: 9)))
            #expect(try await image.frame(at: 0).pixels.bytes == alone.bytes)
            await #expect(throws: LoadError.self) { try await image.frame(at: 1) }
        }
    }
}
