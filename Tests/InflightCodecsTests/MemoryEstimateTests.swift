import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import Testing

@Suite("Memory estimates", .timeLimit(.minutes(10)))
struct MemoryEstimateTests {
    /// A JPEG header up to the first scan, without tables (ITU-T T.81 sections B.2.2 and B.2.3).
    private static func jpeg(_ width: Int, _ height: Int, marker: UInt8, scanComponents: Int = 3) -> [UInt8] {
        var frame: [UInt8] = [8] + Pieces.big16(height) + Pieces.big16(width)
        frame += [3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]
        var scan = [UInt8(scanComponents)]
        for component in 0..<scanComponents { scan += [UInt8(component + 1), 0] }
        scan += [0, 63, 0]
        var file: [UInt8] = [0xFF, 0xD8, 0xFF, marker] + Pieces.big16(frame.count + 2) + frame
        file += [0xFF, 0xDA] + Pieces.big16(scan.count + 2) + scan
        return file
    }

    private static func needed(_ file: [UInt8], width: Int? = nil) throws -> Int {
        var options = DecodeOptions(resize: width.map { Resize(width: $0) })
        options.maximumMemory = .max
        return try registry.memoryNeeded(Bytes(file), options: options)
    }

    @Test("The estimate includes all coefficients of a progressive or multi-scan JPEG")
    func coefficients() throws {
        let pixels = 4000 * 3000
        let baseline = try Self.needed(Self.jpeg(4000, 3000, marker: 0xC0), width: 256)
        #expect(baseline < pixels)
        for file in [
            Self.jpeg(4000, 3000, marker: 0xC2), Self.jpeg(4000, 3000, marker: 0xC0, scanComponents: 1),
        ] {
            let progressive = try Self.needed(file, width: 256)
            // 4:2:0: one and a half coefficients of two bytes for each pixel.
            #expect((3 * pixels..<3 * pixels + pixels / 2).contains(progressive - baseline))
        }
    }

    @Test("A large PNG needs memory for its result only, an interlaced one for all its pixels")
    func others() throws {
        for file in [Fixtures.rgbPNG, Fixtures.interlacedPNG, Fixtures.losslessWebP, Fixtures.interlacedGIF] {
            let needed = try Self.needed(file)
            #expect((Scene.width * Scene.height * 4..<200_000).contains(needed))
        }
        let pixels = 8000 * 8000
        var header = Array(Fixtures.rgbPNG[..<16]) + Pieces.big32(8000) + Pieces.big32(8000) + [8, 2, 0, 0, 0]
        header += [0, 0, 0, 0] + Pieces.big32(100) + Array("IDAT".utf8)
        #expect(try Self.needed(header, width: 100) < pixels / 2)
        header[28] = 1
        #expect((pixels * 4..<pixels * 5).contains(try Self.needed(header, width: 100)))
    }

    @Test("A decode above the memory limit is rejected, whole or partial")
    func refused() throws {
        var options = DecodeOptions(resize: Resize(width: 256))
        options.maximumPixels = .max
        options.maximumMemory = 100_000_000
        let file = Bytes(Self.jpeg(65_000, 65_000, marker: 0xC2))
        for isPart in [false, true] {
            let error = #expect(throws: LoadError.self) {
                if isPart {
                    _ = try registry.decodePart(file, options: options, cancellation: CancellationFlag())
                } else {
                    _ = try registry.decode(file, options: options, cancellation: CancellationFlag())
                }
            }
            #expect(error?.code == .tooMuchMemory)
        }
    }
}
