import InflightImages
import InflightTestSupport
import Testing

/// The image from which other programs made both hashes below.
private let scene = Painted(40, 30) { x, y in (x * 6, y * 8, 255 - x * 3 - y * 4, 255) }

@Suite("BlurHash", .timeLimit(.minutes(10)))
struct BlurHashTests {
    // Encoded by blurhash 1.1.5 from PyPI.
    @Test(
        "BlurHash encoding matches another implementation",
        arguments: [
            (4, 3, "LqG92E2xw#X9m3Wajuf9gMfkfQfk"), (1, 1, "00G92E"), (2, 5, "bqG92E2xm3WagMfknnWrf9fR"),
            (
                9, 9,
                "|qG92E2xw#X9jvkDWrofWrm3Wajuf9fRf8fRf8fRgMfkfQfkfQfkfQfkfQnnWrjufRfQfRfQfRfQf9fRfQfRfQfQfQfQfQogWrjufRfQ"
                    + "fRfQfRfQe?fRfQfQfQfQfQfQfQogWqjufRfQfRfQfQfQe?fRfQfQfQfQfQfQfQ"
            ),
        ] as [(Int, Int, String)])
    func encoded(horizontal: Int, vertical: Int, expected: String) {
        for format in [PixelBuffer.Format.rgbx, PixelBuffer.Format(order: .bgra, alpha: .opaque)] {
            let hash = BlurHash(scene.pixels(format), horizontal: horizontal, vertical: vertical)
            #expect(hash.text == expected)
            #expect(hash.horizontal == horizontal && hash.vertical == vertical)
        }
    }

    // Decoded by the same program; pixels (0, 0), (5, 3) and (7, 5) of 8 × 6.
    @Test(
        "BlurHash decoding matches another implementation",
        arguments: [
            ("LqG92E2xw#X9m3Wajuf9gMfkfQfk", [[0, 51, 242], [154, 124, 123], [200, 194, 52]]),
            ("00G92E", [[140, 139, 149], [140, 139, 149], [140, 139, 149]]),
            ("bqG92E2xm3WagMfknnWrf9fR", [[0, 0, 239], [167, 120, 126], [193, 195, 33]]),
            ("LEHV6nWB2yk8pyo0adR*.7kCMdnj", [[135, 164, 177], [153, 132, 118], [139, 143, 146]]),
            ("LGF5]+Yk^6#M@-5c,1J5@[or[Q6.", [[176, 118, 163], [138, 118, 67], [119, 106, 122]]),
        ] as [(String, [[Int]])])
    func decoded(text: String, expected: [[Int]]) throws {
        let pixels = try BlurHash(text).pixels(width: 8, height: 6)
        for ((x, y), color) in zip([(0, 0), (5, 3), (7, 5)], expected) {
            #expect(zip(pixels[x, y], color).allSatisfy { abs($0 - $1) <= 1 }, "\(pixels[x, y]), not \(color)")
        }
    }

    @Test("A higher BlurHash punch increases contrast")
    func punch() throws {
        let hash = BlurHash(scene.pixels())
        let (plain, strong) = (hash.pixels(width: 8, height: 6), hash.pixels(width: 8, height: 6, punch: 2))
        #expect(strong[7, 5][0] > plain[7, 5][0] && strong[0, 3][0] <= plain[0, 3][0])
        #expect(hash.averageColor == PixelColor(red: 140, green: 139, blue: 149))
    }

    @Test(
        "A malformed BlurHash throws an error that names the fault",
        arguments: [
            ("", "0 characters"), ("00000", "5 characters"),
            ("LqG92E2xw#X9m3Wajuf9gMfkfQf", "its first requires 28"),
            ("LqG92E2xw#X9m3Wajuf9gMfkfQfkk", "29 characters"), ("00G92\"", "invalid character"),
            ("00~~~~", "average"), ("10G92E~~", "too high"), ("~0G92E", "6 characters"), ("00G92é", "character"),
        ])
    func broken(text: String, words: String) throws {
        let error = try #require(throws: LoadError.self) { try BlurHash(text) }
        #expect(error.code == .damaged && error.message.contains(words), "\(error.message)")
    }

    @Test("An image of any size has a BlurHash, with its component counts clamped")
    func all() throws {
        for (width, height) in [(1, 1), (1, 500), (700, 3)] {
            let pixels = Painted(width, height) { x, _ in (255, x % 256, 0, 128) }.pixels(.premultipliedBGRA)
            let hash = BlurHash(pixels, horizontal: 99, vertical: -4)
            #expect(hash.horizontal == 9 && hash.vertical == 1)
            #expect(try BlurHash(hash.text) == hash)
        }
    }
}

@Suite("ThumbHash", .timeLimit(.minutes(10)))
struct ThumbHashTests {
    /// Has no symmetries. They would make some components zero, and rounding could turn these either way.
    private static let wide = Painted(40, 30) { x, y in (x * x / 7, y * y * y / 140 + x * y / 20, 255 - x * y / 6, 255)
    }
    private static let tall = Painted(20, 30, wide.color)
    private static let clear = Painted(40, 30) { x, y in
        let color = wide.color(x, y)
        return (color.0, color.1, color.2, min(255, 64 + x * x / 9 + 3 * y))
    }

    // Encoded by thumbhash 0.1.2 from PyPI, after adding the brackets around three values that it lacks for images
    // without alpha. The numbers are the first pixel that it decodes.
    private static let examples: [(Painted, String, [Int], Double)] = [
        (wide, "nBMGXZSgh4djd3eLiGd3eICRCfpX", [0, 0, 255, 255], 1.4),
        (tall, "2bEFPRKGh3B3x3hod3l4h4OQafhX", [0, 0, 255, 255], 5.0 / 7),
        (clear, "XSSGPI4qwJaEeHxoCBqbsG8EeUiHd3h3Bw==", [55, 49, 231, 62], 1.25),
    ]

    @Test("ThumbHash encoding and decoding match another implementation", arguments: 0..<3)
    func known(index: Int) throws {
        let (painted, text, first, ratio) = Self.examples[index]
        let formats: [PixelBuffer.Format] = index == 2 ? [.rgba] : [.rgbx, .premultipliedBGRA]
        for format in formats { #expect(ThumbHash(painted.pixels(format)).text == text) }
        let hash = try ThumbHash(text)
        #expect(hash.aspectRatio == ratio)
        let pixels = hash.pixels()
        #expect(max(pixels.width, pixels.height) == 32)
        #expect(zip(pixels[0, 0], first).allSatisfy { abs($0 - $1) <= 1 }, "\(pixels[0, 0])")
        #expect((pixels.format.alpha == .straight) == (index == 2))
    }

    // From the web page of the author of ThumbHash.
    @Test("The example on the ThumbHash page has the expected average and first pixel")
    func page() throws {
        let hash = try ThumbHash("1QcSHQRnh493V4dIh4eXh1h4kJUI")
        let average = hash.averageColor
        #expect(average == PixelColor(red: 86, green: 82, blue: 88))
        #expect(zip(hash.pixels()[0, 0], [64, 78, 113]).allSatisfy { abs($0 - $1) <= 1 })
        #expect(hash.pixels().width == 23)
    }

    @Test("A ThumbHash decodes to an approximation of its image at any size")
    func back() throws {
        for (painted, _, _, _) in Self.examples {
            for side in [8, 32, 100] {
                let pixels = ThumbHash(painted.pixels(.rgba)).pixels(longestSide: side)
                #expect(max(pixels.width, pixels.height) == side)
                let psnr = pixels.psnr(
                    against: { x, y, channel in
                        let color = painted.color(x * painted.width / pixels.width, y * painted.height / pixels.height)
                        return Double([color.0, color.1, color.2][channel])
                    })
                #expect(psnr > 17, "\(psnr) dB")
            }
        }
    }

    @Test(
        "A malformed ThumbHash throws an error that names the fault",
        arguments: [
            ("", "0 bytes"), ("XwcG", "3 bytes"), ("XwcGZZhwd3dweIh3", "requires"), ("!", "not Base64"),
            ("AAAAAAAA", "dimensions"),
        ])
    func broken(text: String, words: String) throws {
        let error = try #require(throws: LoadError.self) { try ThumbHash(text) }
        #expect(error.code == .damaged && error.message.contains(words), "\(error.message)")
    }

    @Test("Random bytes are rejected or decoded as a ThumbHash without a trap")
    func random() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            guard let hash = try? ThumbHash(bytes) else { continue }
            #expect(hash.pixels(longestSide: 9).width <= 9, "\(bytes)")
            _ = hash.averageColor
        }
    }

    @Test("An image of any size and alpha has a ThumbHash")
    func all() throws {
        for (width, height) in [(1, 1), (1, 500), (700, 3)] {
            for alpha in [0, 128, 255] {
                let pixels = Painted(width, height) { x, _ in (255, x % 256, 0, alpha) }.pixels(.rgba)
                let hash = ThumbHash(pixels)
                #expect(try ThumbHash(hash.bytes) == hash)
            }
        }
    }
}

@Suite("Dominant colour", .timeLimit(.minutes(10)))
struct DominantColorTests {
    @Test("The dominant colour is the most frequent one, whatever the rest and the byte order")
    func most() {
        // Two fifths are noisy red, and the rest has many colours.
        let painted = Painted(50, 40) { x, y in
            y < 16 ? (200 + (x * 7 + y) % 9 - 4, 30, 40, 255) : ((x * 37) % 256, (y * 53) % 256, (x * y) % 256, 255)
        }
        for format in [PixelBuffer.Format.rgbx, .premultipliedBGRA] {
            let color = painted.pixels(format).dominantColor
            #expect(abs(Int(color.red) - 200) < 12 && abs(Int(color.green) - 30) < 12 && abs(Int(color.blue) - 40) < 12)
        }
    }

    @Test("The dominant colour merges adjacent steps, weighs alpha, and is clear if nothing is visible")
    func borders() {
        // A quarter of the image on each side of a quantisation step, and a third in one other colour.
        let split = Painted(60, 4) { x, _ in
            x < 15 ? (95, 0, 0, 255) : x < 30 ? (97, 0, 0, 255) : x < 50 ? (0, 0, 255, 255) : (0, 255, 0, 255)
        }
        #expect(abs(Int(split.pixels().dominantColor.red) - 96) <= 1)
        let faint = Painted(60, 4) { x, _ in x < 40 ? (255, 0, 0, 40) : (0, 0, 255, 255) }
        #expect(faint.pixels(.rgba).dominantColor == PixelColor(red: 0, green: 0, blue: 255))
        #expect(Painted(5, 5) { _, _ in (255, 0, 0, 0) }.pixels(.rgba).dominantColor == .clear)
    }
}
