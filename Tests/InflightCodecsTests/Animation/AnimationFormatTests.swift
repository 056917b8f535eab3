import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

@Suite("Animation formats", .timeLimit(.minutes(10)))
struct AnimationFormatTests {
    private func open(_ bytes: [UInt8]) throws(LoadError) -> AnimatedImage {
        try registry.animation(of: Bytes(bytes))
    }

    private func code(_ bytes: [UInt8]) -> LoadError.Code? {
        do throws(LoadError) {
            _ = try open(bytes)
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: GIF

    /// A GIF file of 2 × 2 pixels with two colours and these blocks.
    private func gif(_ blocks: [UInt8]...) -> [UInt8] {
        Array("GIF89a".utf8) + [2, 0, 2, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255] + blocks.joined() + [0x3B]
    }

    /// A frame of one colour: LZW codes of three bits, 4 to clear, 5 to end.
    private func frame(_ color: UInt8, x: UInt8 = 0, y: UInt8 = 0, side: UInt8 = 2) -> [UInt8] {
        var bits: [UInt8] = []
        func add(_ code: UInt8) { for bit in 0..<3 { bits.append(code >> UInt8(bit) & 1) } }
        for _ in 0..<side * side {
            add(4)
            add(color)
        }
        add(5)
        var data: [UInt8] = []
        for start in stride(from: 0, to: bits.count, by: 8) {
            data.append(bits[start..<min(bits.count, start + 8)].reversed().reduce(0) { $0 << 1 | $1 })
        }
        return [0x2C, x, 0, y, 0, side, 0, side, 0, 0, 2, UInt8(data.count)] + data + [0]
    }

    private func control(
        delay: Int, disposal: UInt8 = 0, transparent: UInt8? = nil
    ) -> [UInt8] {
        [0x21, 0xF9, 4, disposal << 2 | (transparent == nil ? 0 : 1)] + Pieces.little16(delay) + [transparent ?? 0, 0]
    }

    private func application(_ name: String, _ content: [UInt8]) -> [UInt8] {
        [0x21, 0xFF, 11] + Array(name.utf8) + [UInt8(content.count)] + content + [0]
    }

    private let red = SIMD4<UInt8>(255, 0, 0, 255)
    private let blue = SIMD4<UInt8>(0, 0, 255, 255)

    private func pixels(_ image: AnimatedImage, _ index: Int) async throws -> [SIMD4<UInt8>] {
        let bytes = try await image.frame(at: index).pixels.converted(to: .rgba).bytes.array
        return stride(from: 0, to: bytes.count, by: 4).map {
            SIMD4(bytes[$0], bytes[$0 + 1], bytes[$0 + 2], bytes[$0 + 3])
        }
    }

    @Test("GIF: The loop count comes from the NETSCAPE2.0 or the ANIMEXTS1.0 extension")
    func rounds() throws {
        let two = frame(0) + frame(1)
        #expect(try open(gif(two)).info.loopCount == 1)
        for name in ["NETSCAPE2.0", "ANIMEXTS1.0"] {
            #expect(try open(gif(application(name, [1, 0, 0]), two)).info.loopCount == nil)
            #expect(try open(gif(application(name, [1, 1, 0]), two)).info.loopCount == 2)
            #expect(try open(gif(application(name, [1, 0xFF, 0xFF]), two)).info.loopCount == 65_536)
            #expect(try open(gif(two, application(name, [1, 4, 0]))).info.loopCount == 5)
        }
        #expect(try open(gif(application("XMP DataXMP", [1, 7, 0]), two)).info.loopCount == 1)
        #expect(try open(gif(application("NETSCAPE2.0", [2, 0, 0, 0, 0]), two)).info.loopCount == 1)
    }

    @Test("GIF: A delay applies to the frame after it, and delays of up to 10 ms become 100 ms")
    func delays() throws {
        let image = try open(
            gif(control(delay: 0), frame(0), control(delay: 1), frame(1), control(delay: 2), frame(0), frame(1)))
        #expect(image.info.durations == [100, 100, 20, 100].map { .milliseconds($0) })
    }

    @Test("GIF: Each disposal method has its effect, and a frame is cropped to the canvas")
    func disposals() async throws {
        let none = SIMD4<UInt8>.zero
        let cases: [(UInt8, SIMD4<UInt8>)] = [(0, blue), (1, blue), (2, none), (3, red), (4, red), (7, blue)]
        for (disposal, behind) in cases {
            let image = try open(
                gif(
                    frame(0), control(delay: 5, disposal: disposal), frame(1, x: 1, y: 1),
                    control(delay: 5, transparent: 1), frame(1)))
            #expect(try await pixels(image, 0) == [red, red, red, red])
            #expect(try await pixels(image, 1) == [red, red, red, blue])
            #expect(try await pixels(image, 2) == [red, red, red, behind], "disposal \(disposal)")
        }
    }

    @Test("GIF: The canvas grows to hold its first frame, and later frames are cropped to it")
    func firstFrame() async throws {
        let none = SIMD4<UInt8>.zero
        // Outside the canvas, across its edge, and larger: the sizes that Pillow and Chromium report.
        let cases: [(UInt8, UInt8, UInt8, Int, Int)] = [(3, 2, 1, 4, 3), (1, 0, 2, 3, 2), (0, 0, 3, 3, 3)]
        for (x, y, side, width, height) in cases {
            let file = gif(frame(0, x: x, y: y, side: side), frame(1, x: 2, y: 1, side: 9))
            let still = try decode(file)
            try #require(still.width == width && still.height == height)
            let expected = (0..<width * height).map { place in
                let inside = place % width >= x && place / width >= y
                return inside && place % width < Int(x + side) && place / width < Int(y + side) ? red : none
            }
            #expect((0..<width * height).map { still[$0 % width, $0 / width] } == expected)
            let image = try open(file)
            #expect(image.info.width == width && image.info.height == height)
            #expect(try await pixels(image, 0) == expected)
            #expect(try await pixels(image, 1).last == blue)
            _ = try registry.validate(Bytes(file))
        }
    }

    @Test("GIF: A local colour table applies to its frame, and comments between frames are skipped")
    func localColors() async throws {
        var own = frame(1, side: 1)
        own[9] = 0x80
        own.insert(contentsOf: [9, 8, 7, 6, 5, 4], at: 10)
        let comment: [UInt8] = [0x21, 0xFE, 3, 1, 2, 3, 0]
        let image = try open(gif(frame(0), comment, control(delay: 3), comment, own, comment, frame(1)))
        #expect(try await pixels(image, 1) == [SIMD4(6, 5, 4, 255), red, red, red])
        #expect(image.info.durations[1] == .milliseconds(30))
        #expect(try await pixels(image, 2) == [blue, blue, blue, blue])
    }

    @Test("GIF: A missing trailer or an unknown block marks the animation as truncated")
    func noTrailer() throws {
        #expect(try !open(gif(frame(0), frame(1))).info.isCutShort)
        #expect(try open(gif(frame(0), frame(1)).dropLast()).info.isCutShort)
        let strange = try open(gif(frame(0), frame(1), [0x77], frame(0)))
        #expect(strange.info.isCutShort && strange.frameCount == 2)
        #expect(code(gif(frame(0), frame(1, side: 0))) == .damaged)
    }

    // MARK: APNG

    /// The chunks of a PNG file, with their names.
    private func chunks(_ file: [UInt8]) -> [(name: String, content: [UInt8])] {
        var chunks: [(String, [UInt8])] = []
        var position = 8
        while position < file.count {
            let length = file[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            let name = String(decoding: file[position + 4..<position + 8], as: UTF8.self)
            chunks.append((name, Array(file[position + 8..<position + 8 + length])))
            position += 12 + length
        }
        return chunks
    }

    private func png(_ chunks: [(name: String, content: [UInt8])]) -> [UInt8] {
        Array(AnimationFixture.keepPNG[..<8]) + chunks.flatMap { Pieces.chunk($0.name, $0.content) }
    }

    /// The file with the content of its `number`th chunk of that name changed.
    private func changed(_ name: String, _ number: Int, _ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var all = chunks(AnimationFixture.keepPNG)
        let places = all.indices.filter { all[$0].name == name }
        change(&all[places[number]].content)
        return png(all)
    }

    @Test("APNG: An image whose animation has a fault shows its static image (PNG, third edition, section 13.1)")
    func faultyAnimation() async throws {
        for fixture in [AnimationFixture.keepPNG, AnimationFixture.defaultImagePNG] {
            let whole = chunks(fixture)
            let controls = whole.indices.filter { whole[$0].name == "fcTL" }
            let data = whole.indices.filter { whole[$0].name == "fdAT" }
            let second = try #require(data.first { $0 > controls[1] })
            func changed(_ index: Int, _ place: Int, _ value: UInt8) -> [UInt8] {
                var copy = whole
                copy[index].content[place] = value
                return png(copy)
            }
            func without(_ index: Int) -> [UInt8] {
                var copy = whole
                copy.remove(at: index)
                return png(copy)
            }
            func twice(_ index: Int) -> [UInt8] {
                var copy = whole
                copy.insert(copy[index], at: index)
                return png(copy)
            }
            var swapped = whole
            swapped.swapAt(controls[1], second)
            var short = whole
            short[controls[1]].content.removeLast()
            var sum = fixture
            let place = try #require(fixture.indices.first { fixture[$0...].starts(with: "fcTL".utf8) && $0 > 90 })
            sum[place + 30] ^= 1
            let faults: [(String, [UInt8])] = [
                ("no control", without(controls[1])), ("no data", without(second)),
                ("two controls", twice(controls[1])), ("two declarations", twice(1)),
                ("a gap in the sequence", changed(controls[1], 3, 9)), ("a repeated number", changed(second, 3, 0)),
                ("swapped chunks", png(swapped)), ("a short control", png(short)),
                ("outside the canvas", changed(controls[1], 13, 20)), ("no width", changed(controls[1], 7, 0)),
                ("an unknown disposal", changed(controls[1], 24, 3)),
                ("an unknown blending", changed(controls[1], 25, 2)),
                ("a wrong checksum", sum), ("zero frames", changed(1, 3, 0)),
            ]
            for (name, file) in faults {
                let still = try decode(file)
                let image = try #require(try? open(file), "\(name)")
                #expect(image.frameCount == 1 && image.info.duration == .zero, "\(name)")
                #expect(try await image.frame(at: 0).pixels.bytes == still.bytes, "\(name)")
                _ = try registry.validate(Bytes(file))
            }
        }
    }

    @Test("APNG: An image whose first frame control precedes the animation's header is animated, as in browsers")
    func earlyControl() throws {
        var whole = chunks(AnimationFixture.keepPNG)
        let control = try #require(whole.firstIndex { $0.name == "fcTL" })
        whole.swapAt(1, control)
        #expect(whole[1].name == "fcTL")
        let image = try open(png(whole))
        #expect(image.frameCount == 4)
    }

    @Test("APNG: Missing frames mark the animation as truncated, and surplus frames are ignored")
    func counts() throws {
        let more = try open(changed("acTL", 0) { $0[3] = 9 })
        #expect(more.frameCount == 4 && more.info.isCutShort)
        let fewer = try open(changed("acTL", 0) { $0[3] = 2 })
        #expect(fewer.frameCount == 2 && !fewer.info.isCutShort)
        #expect(try open(changed("acTL", 0) { $0[7] = 3 }).info.loopCount == 3)
        let times = try open(changed("fcTL", 0) { $0.replaceSubrange(20..<24, with: [0, 1, 0, 0]) })
        #expect(times.info.durations[0] == .milliseconds(100))
        let thirtieth = try open(changed("fcTL", 0) { $0.replaceSubrange(20..<24, with: [0, 1, 0, 30]) })
        #expect(thirtieth.info.durations[0] == .milliseconds(33))
    }

    @Test("APNG: A file without a valid animation control is a still image")
    func stills() throws {
        #expect(try open(changed("acTL", 0) { $0[3] = 0 }).frameCount == 1)
        let control = Pieces.chunk("acTL", Pieces.big32(7) + Pieces.big32(0))
        #expect(try open(Pieces.png(Fixtures.rgbPNG, adding: control)).frameCount == 1)
        let all = chunks(AnimationFixture.keepPNG)
        let late = all.filter { $0.name != "acTL" }.flatMap { $0.name == "IDAT" ? [$0, all[1]] : [$0] }
        #expect(all[1].name == "acTL")
        #expect(try open(png(late)).frameCount == 1)
    }

    @Test("APNG: Palette, transparency, interlacing and 16 bits apply to every frame")
    func kinds() async throws {
        for (still, scene) in [
            (Fixtures.transparentPalettePNG, Scene.firstPixelTransparent), (Fixtures.interlacedPNG, nil),
            (Fixtures.sixteenBitPNG, Scene.color), (Fixtures.oneBitPNG, Scene.checkered),
        ] as [([UInt8], ((Int, Int) -> SIMD4<UInt8>)?)] {
            var parts = chunks(still)
            let data = parts.filter { $0.name == "IDAT" }.flatMap(\.content)
            let first = try #require(parts.firstIndex { $0.name == "IDAT" })
            func control(_ sequence: Int) -> [UInt8] {
                [sequence, Scene.width, Scene.height, 0, 0].flatMap(Pieces.big32) + [0, 1, 0, 10, 0, 0]
            }
            parts.insert(("acTL", Pieces.big32(2) + Pieces.big32(0)), at: first)
            parts.insert(("fcTL", control(0)), at: first + 1)
            parts.insert(contentsOf: [("fcTL", control(1)), ("fdAT", Pieces.big32(2) + data)], at: parts.count - 1)
            let image = try open(png(parts))
            #expect(image.frameCount == 2)
            for index in 0..<2 {
                let pixels = try await image.frame(at: index).pixels
                #expect(pixels.bytes == (try decode(still)).bytes)
                if let scene { #expect(pixels.psnr(scene) == 100) }
            }
        }
    }

    // MARK: WebP

    @Test("WebP: A frame outside the canvas is damaged, and a profile applies to every frame")
    func webP() async throws {
        // The second frame's position, of 24 bits.
        let starts = AnimationFixture.keepWebP.indices.dropLast(4).filter {
            AnimationFixture.keepWebP[$0..<$0 + 4].elementsEqual("ANMF".utf8)
        }
        var outside = AnimationFixture.keepWebP
        outside[starts[1] + 8] = 8
        #expect(code(outside) == .damaged)
        // A profile with red and blue swapped.
        let profile = Pieces.profile(order: [2, 1, 0], gamma: 2.2, name: "turned")
        var chunks = Array(AnimationFixture.keepWebP[12...])
        chunks[8] |= 0x20
        let chunk = Array("ICCP".utf8) + Pieces.little32(profile.count) + profile
        chunks.insert(contentsOf: chunk + (profile.count % 2 == 0 ? [] : [0]), at: 18)
        let image = try open(Pieces.webP(chunks))
        for index in 0..<4 {
            let pixels = try await image.frame(at: index).pixels
            let plain = try await open(AnimationFixture.keepWebP).frame(at: index).pixels
            let (x, y) = (5 + 4 * index, 3 + 2 * index)
            let offset = y * pixels.bytesPerRow + 4 * x
            #expect(pixels.bytes[offset] != plain.bytes[offset] || pixels.bytes[offset + 2] != plain.bytes[offset + 2])
        }
    }
}
