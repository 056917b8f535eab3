import InflightCore
import InflightPictures
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ColorTests {
    static let swapped = Pieces.profile(order: [2, 1, 0], gamma: 2.2, name: "swapped channels")

    @Test("An embedded profile that swaps red and blue is applied")
    func profiles() throws {
        let jpeg = Pieces.jpeg(
            Fixtures.rgbJPEG, adding: 0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + Self.swapped)
        let png = Pieces.png(Fixtures.rgbPNG, adding: Pieces.iccp(Self.swapped, name: "swapped"))
        for file in [jpeg, png] {
            #expect(try info(file).profileName?.hasPrefix("swapped") == true)
            let pixels = try decode(file)
            // The curve of 2.2 differs slightly from that of sRGB.
            #expect(
                pixels.psnr {
                    let color = Scene.color($0, $1)
                    return SIMD4(color[2], color[1], color[0], 255)
                } > 36)
        }
    }

    @Test("A profile in two segments is assembled, in order or not")
    func parts() throws {
        let half = Self.swapped.count / 2
        let signature = Array("ICC_PROFILE\0".utf8)
        let first: [UInt8] = signature + [1, 2] + Self.swapped[..<half]
        let second: [UInt8] = signature + [2, 2] + Self.swapped[half...]
        for segments in [[first, second], [second, first]] {
            let file = segments.reduce(Fixtures.rgbJPEG) { Pieces.jpeg($0, adding: 0xE2, $1) }
            let pixels = try decode(file)
            #expect(pixels[15, 0][2] > 200 && pixels[15, 0][0] < 160)
        }
    }

    @Test("A truncated profile is ignored", arguments: [0, 3, 131, 132, 200, 300])
    func brokenProfile(_ length: Int) throws {
        let plain = try decode(Fixtures.baselineJPEG)
        let file = Pieces.jpeg(
            Fixtures.baselineJPEG, adding: 0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + Self.swapped[..<length])
        let pixels = try decode(file)
        #expect(pixels.psnr { plain[$0, $1] } == 100)
    }

    @Test("Alpha is kept when a profile is applied")
    func alpha() throws {
        let pixels = try decode(Pieces.png(Fixtures.rgbaPNG, adding: Pieces.iccp(Self.swapped, name: "swapped")))
        #expect(pixels[2, 5][3] == 0 && pixels[5, 5][3] == 128 && pixels[12, 5][3] == 255)
    }

    @Test("PNG: gAMA with cHRM gives the colours that Chromium 156 shows")
    func primaries() throws {
        let sRGB = [31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000]
        let adobe = [31270, 32900, 64000, 33000, 21000, 71000, 15000, 6000]
        let header = Pieces.chunk("IHDR", Pieces.big32(2) + Pieces.big32(1) + [8, 2, 0, 0, 0])
        // Stored: zlib's header, one block of seven bytes, and its Adler-32.
        let row: [UInt8] = [0, 64, 64, 64, 200, 100, 50]
        let sums = row.reduce(into: (1, 0)) { sums, byte in
            sums.0 = (sums.0 + Int(byte)) % 65521
            sums.1 = (sums.1 + sums.0) % 65521
        }
        let data: [UInt8] = [0x78, 1, 1, 7, 0, 0xF8, 0xFF] + row + Pieces.big32(sums.1 << 16 | sums.0)
        for (gamma, points, expected) in [
            (45455, sRGB, [62, 62, 62, 201, 100, 46]),
            (45455, adobe, [62, 62, 62, 227, 100, 42]),
            (100_000, sRGB, [137, 137, 137, 229, 168, 122]),
            (55556, adobe, [81, 81, 81, 235, 119, 62]),
            (45455, nil, [64, 64, 64, 200, 100, 50]),
            (50_000, nil, [71, 71, 71, 206, 109, 55]),
            (100_000, nil, [137, 137, 137, 229, 168, 122]),
            (nil, adobe, [64, 64, 64, 200, 100, 50]),
        ] as [(Int?, [Int]?, [Int])] {
            var file = Array(Fixtures.rgbPNG[..<8]) + header
            if let gamma { file += Pieces.chunk("gAMA", Pieces.big32(gamma)) }
            if let points { file += Pieces.chunk("cHRM", points.flatMap { Pieces.big32($0) }) }
            let pixels = try decode(file + Pieces.chunk("IDAT", data) + Pieces.chunk("IEND", []))
            for x in 0..<2 {
                for c in 0..<3 {
                    #expect(abs(Int(pixels[x, 0][c]) - expected[3 * x + c]) <= 1, "\(gamma ?? 0) \(points ?? [])")
                }
            }
        }
    }

    @Test("PNG: numbers take precedence over a profile, that over sRGB, and that over gAMA, in any order of the chunks")
    func precedence() throws {
        let plain = try decode(Fixtures.rgbPNG)
        let profile = Pieces.iccp(Self.swapped, name: "swapped")
        let swapped = try decode(Pieces.png(Fixtures.rgbPNG, adding: profile))
        #expect(swapped.psnr { plain[$0, $1] } < 30)
        let sRGB = Pieces.chunk("sRGB", [0])
        let numbers = Pieces.chunk("cICP", [1, 13, 0, 1])
        let gamma = Pieces.chunk("gAMA", Pieces.big32(62_500))
        for chunks in [
            sRGB + profile, profile + sRGB, gamma + sRGB + profile, profile + profile, profile + gamma,
            profile + Pieces.iccp(GoldenProfiles.displayP3.bytes, name: "second"),
        ] {
            #expect(try decode(Pieces.png(Fixtures.rgbPNG, adding: chunks)).psnr { swapped[$0, $1] } == 100)
        }
        for chunks in [numbers + profile, profile + numbers, gamma + numbers, numbers + gamma + sRGB] {
            let file = Pieces.png(Fixtures.rgbPNG, adding: chunks)
            #expect(try decode(file).psnr { plain[$0, $1] } == 100)
            #expect(try info(file).colorPrimaries == 1)
        }
    }

    @Test(
        "PNG: numbers that are unknown, unspecified, HDR, malformed or late are ignored, and the profile applies",
        arguments: [
            [12, 16, 0, 1], [9, 18, 0, 1], [2, 2, 0, 1], [12, 2, 0, 1], [2, 13, 0, 1], [0, 13, 0, 1], [12, 0, 0, 1],
            [3, 13, 0, 1], [255, 13, 0, 1], [12, 255, 0, 1], [12, 13, 1, 1], [12, 13, 0, 2], [12, 13, 0], [],
            [12, 13, 0, 1, 0],
        ] as [[UInt8]])
    func unknownNumbers(_ numbers: [UInt8]) throws {
        let plain = try decode(Fixtures.rgbPNG)
        let profile = Pieces.iccp(Self.swapped, name: "swapped")
        let swapped = try decode(Pieces.png(Fixtures.rgbPNG, adding: profile))
        let chunk = Pieces.chunk("cICP", numbers)
        #expect(try decode(Pieces.png(Fixtures.rgbPNG, adding: chunk)).psnr { plain[$0, $1] } == 100)
        #expect(try decode(Pieces.png(Fixtures.rgbPNG, adding: chunk + profile)).psnr { swapped[$0, $1] } == 100)
        let wide = Pieces.chunk("cICP", [12, 13, 0, 1])
        let late = Array(Fixtures.rgbPNG.dropLast(12)) + wide + Fixtures.rgbPNG.suffix(12)
        #expect(try decode(late).psnr { plain[$0, $1] } == 100)
    }

    @Test("PNG: Display P3 by number gives the colours of its mathematics, grey stays grey, alpha and frames too")
    func numbers() throws {
        let wide = Pieces.chunk("cICP", [12, 13, 0, 1])
        for file in [Fixtures.rgbaPNG, Fixtures.palettePNG, Fixtures.interlacedPNG] {
            let plain = try decode(file)
            for size in [nil, Resize(width: 16, height: 12, fit: .exact, light: .linear)] {
                let pixels = try decode(Pieces.png(file, adding: wide), DecodeOptions(resize: size))
                for (x, y) in [(1, 1), (15, 0), (0, 11), (9, 5), (15, 11)] {
                    let source = plain[x, y]
                    let color = GoldenProfiles.displayP3.sRGB(
                        SIMD3(Double(source[0]), Double(source[1]), Double(source[2])))
                    #expect(pixels[x, y][3] == source[3])
                    guard source[3] > 0 else { continue }
                    for c in 0..<3 { #expect(abs(Double(pixels[x, y][c]) - color[c]) < 1.5, "\(x) \(y) \(c)") }
                }
            }
        }
        let gray = try decode(Pieces.png(Fixtures.oneBitPNG, adding: wide))
        #expect(gray.psnr(Scene.checkered) == 100)
    }

    @Test("JPEG: CMYK without an Adobe marker is inverted too, as in Pillow, libvips and browsers")
    func cmykWithoutMarker() throws {
        let whole = Fixtures.cmykJPEG
        // The marker is the first segment.
        let length = Int(whole[4]) << 8 | Int(whole[5])
        let bare = Array(whole[..<2] + whole[(4 + length)...])
        #expect(try info(bare).colorModel == .cmyk)
        for size in [nil, Resize(width: 8)] {
            let expected = try decode(whole, DecodeOptions(resize: size))
            let pixels = try decode(bare, DecodeOptions(resize: size))
            #expect(pixels.psnr { expected[$0, $1] } == 100)
        }
        #expect(try decode(bare).psnr(Scene.color) > 40)
    }

    @Test("PNG: A gamma other than that of sRGB changes the brightness, unless the file declares sRGB")
    func gamma() throws {
        let plain = try decode(Fixtures.rgbPNG)
        let usual = Pieces.chunk("gAMA", Pieces.big32(45455))
        let linear = Pieces.chunk("gAMA", Pieces.big32(100_000))
        let declared = Pieces.chunk("sRGB", [0])
        #expect(try decode(Pieces.png(Fixtures.rgbPNG, adding: usual)).psnr { plain[$0, $1] } == 100)
        for gamma in [usual, linear] {
            let file = Pieces.png(Fixtures.rgbPNG, adding: declared + gamma)
            #expect(try decode(file).psnr { plain[$0, $1] } == 100)
        }
        let lighter = try decode(Pieces.png(Fixtures.rgbPNG, adding: linear))
        // Half of the light is 188 in sRGB.
        let (x, y) = (8, 6)
        #expect(Scene.color(x, y)[0] == 130 && (188...190).contains(lighter[x, y][0]))
    }
}
