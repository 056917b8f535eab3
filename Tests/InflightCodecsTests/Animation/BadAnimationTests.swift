import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@Suite("Animations: truncated, corrupt or too large", .timeLimit(.minutes(10)))
struct BadAnimationTests {
    private typealias Fixture = AnimationFixture

    private func open(_ bytes: [UInt8], _ options: DecodeOptions = DecodeOptions()) throws(LoadError) -> AnimatedImage {
        try registry.animation(of: Bytes(bytes), options: options)
    }

    private func code(_ body: () async throws -> Void) async -> LoadError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? LoadError)?.code
        }
    }

    @Test("A truncated animation yields its complete frames or fails as damaged", arguments: AnimationFixture.all)
    func cutShort(fixture: AnimationFixture) async throws {
        var most = 0
        for length in 0..<fixture.bytes.count {
            let part = Array(fixture.bytes[..<length])
            guard let image = try? open(part) else {
                let found = await code { _ = try open(part) }
                #expect(found == .damaged || found == .notAnImage, "\(length)")
                #expect(most == 0, "\(length): less than before")
                continue
            }
            // The pixels of a still may be complete before any frame of the animation is known.
            if image.info.duration == .zero { continue }
            #expect(image.frameCount >= most, "\(length)")
            most = image.frameCount
            #expect(image.info.isCutShort || most == fixture.drawings.count, "\(length)")
            let last = try await image.frame(at: most - 1).pixels
            let whole = try await open(fixture.bytes).frame(at: most - 1).pixels
            // With fewer frames, the animation may be opaque, and then it has another pixel format.
            #expect(last.converted(to: .rgba).bytes == whole.converted(to: .rgba).bytes, "\(length)")
        }
        // Every frame but the last one. Only the end of the file marks the end of the last frame.
        #expect(most >= fixture.drawings.count - 1)
    }

    @Test("A randomly corrupted animation decodes or fails with an expected error", arguments: AnimationFixture.all)
    func changed(fixture: AnimationFixture) async throws {
        var generator = SeededGenerator(seed: 0xA21)
        var options = DecodeOptions()
        options.maximumPixels = 100_000
        options.maximumAnimationPixels = 1_000_000
        for _ in 0..<150 {
            var bytes = fixture.bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            let found = await code {
                let image = try open(bytes, options)
                for index in [0, image.frameCount - 1, image.frameCount / 2] { _ = try await image.frame(at: index) }
            }
            let known: [LoadError.Code?] = [nil, .damaged, .notAnImage, .unsupportedFormat, .tooManyPixels]
            #expect(known.contains(found))
        }
    }

    /// A GIF file that declares its frames but contains almost no data.
    private func gif(width: Int, height: Int, frames: Int) -> [UInt8] {
        let size = Pieces.little16(width) + Pieces.little16(height)
        let frame = [0x2C, 0, 0, 0, 0] + size + [0, 2, 1, 0x44, 0]
        return Array("GIF89a".utf8) + size + [0, 0, 0] + (0..<frames).flatMap { _ in frame } + [0x3B]
    }

    @Test("A GIF of 28 bytes that declares 16 GB is rejected, and so are too many large frames")
    func tinyGIF() async {
        let tiny = gif(width: 65_535, height: 65_535, frames: 1)
        #expect(tiny.count == 28)
        #expect(await code { _ = try open(tiny) } == .tooManyPixels)
        // Each frame alone is allowed; all of them together are not.
        let many = gif(width: 9_000, height: 9_000, frames: 60)
        #expect(await code { _ = try open(many) } == .tooManyPixels)
        var generous = DecodeOptions()
        generous.maximumAnimationPixels = .max
        #expect(await code { _ = try open(many, generous) } == nil)
        // A frame larger than its canvas counts with its own size.
        var beyond = gif(width: 65_535, height: 65_535, frames: 1)
        beyond.replaceSubrange(6..<10, with: Pieces.little16(1) + Pieces.little16(1))
        #expect(await code { _ = try open(beyond) } == .tooManyPixels)
    }

    @Test("More frames than allowed are rejected in every format")
    func frames() async {
        #expect(await code { _ = try open(gif(width: 1, height: 1, frames: 10_001)) } == .tooManyFrames)
        #expect(await code { _ = try open(gif(width: 1, height: 1, frames: 10_000)) } == nil)
        var options = DecodeOptions()
        for fixture in AnimationFixture.all {
            options.maximumFrames = fixture.drawings.count
            #expect(await code { _ = try open(fixture.bytes, options) } == nil, "\(fixture.name)")
            options.maximumFrames -= 1
            #expect(await code { _ = try open(fixture.bytes, options) } == .tooManyFrames, "\(fixture.name)")
        }
    }

    @Test("The canvas, all frames together and the requested size are limited", arguments: AnimationFixture.all)
    func pixels(fixture: AnimationFixture) async {
        let canvas = Fixture.width * Fixture.height
        var options = DecodeOptions()
        options.maximumPixels = canvas
        options.maximumAnimationPixels = canvas * fixture.drawings.count
        #expect(await code { _ = try open(fixture.bytes, options) } == nil)
        options.maximumAnimationPixels -= 1
        #expect(await code { _ = try open(fixture.bytes, options) } == .tooManyPixels)
        options.maximumAnimationPixels += 1
        options.maximumPixels -= 1
        #expect(await code { _ = try open(fixture.bytes, options) } == .tooManyPixels)
        options = DecodeOptions(resize: Resize(width: 20_000, height: 20_000, fit: .exact))
        #expect(await code { _ = try open(fixture.bytes, options) } == .tooManyPixels)
    }

    @Test("A frame with corrupt data fails without affecting other frames")
    func oneFrame() async throws {
        // The last frame's pixels.
        var webP = AnimationFixture.keepWebP
        for place in webP.count - 30..<webP.count { webP[place] = 0xFF }
        let image = try open(webP)
        #expect(await code { _ = try await image.frame(at: 3) } == .damaged)
        #expect(try await image.frame(at: 2).index == 2)
        // The checksum of rewritten data is verified too.
        var png = AnimationFixture.keepPNG
        png[png.count - 13] ^= 1
        let other = try open(png)
        #expect(await code { _ = try await other.frame(at: 3) } == .damaged)
        #expect(try await other.frame(at: 2).index == 2)
    }
}
