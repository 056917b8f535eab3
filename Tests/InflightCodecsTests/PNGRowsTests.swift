import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

/// Rows of PNG with every filter, in every format of pixels: inflated at once, and read by libpng.
@Suite("Rows of PNG", .timeLimit(.minutes(10)))
struct PNGRowsTests {
    struct Format: Sendable, CustomTestStringConvertible {
        let colorType: Int
        let depth: Int
        var bitsPerPixel: Int { [0: 1, 2: 3, 3: 1, 4: 2, 6: 4][colorType]! * depth }
        var testDescription: String { "colour type \(colorType), \(depth) bits" }
    }

    static let formats = [(0, [1, 2, 4, 8, 16]), (2, [8, 16]), (3, [1, 2, 4, 8]), (4, [8, 16]), (6, [8, 16])].flatMap {
        type, depths in depths.map { Format(colorType: type, depth: $0) }
    }

    private let width = 37
    private let height = 12

    @Test(
        "A whole image has the pixels that libpng reads from its beginning, with each filter and mixed ones",
        arguments: formats, [0, 1, 2, 3, 4, nil])
    func filters(_ format: Format, _ filter: Int?) throws {
        let file = png(format) { filter ?? $0 % 5 }
        // Without its end, the file is read by libpng alone.
        let (expected, _) = try #require(try part(file.dropLast(12)))
        #expect(try pixels(file) == expected.pixels.bytes)
        var damaged = file
        damaged[file.count - 1] ^= 1
        #expect(throws: LoadError.self) { try registry.verify(Bytes(damaged)) }
        try registry.verify(Bytes(file))
    }

    @Test("An image is whole in one chunk or many, with chunks that are empty, and with more data than its rows")
    func chunks() throws {
        let format = Format(colorType: 2, depth: 8)
        let plain = try pixels(png(format) { _ in 4 })
        for sizes in [[1, 2, 3], [0, 100, 0], [1_000_000]] {
            #expect(try pixels(png(format, chunkSizes: sizes) { _ in 4 }) == plain)
        }
        #expect(try pixels(png(format, trailing: [1, 2, 3]) { _ in 4 }) == plain)
    }

    @Test("Faulty data is damaged, whether or not the file has its end")
    func faults() throws {
        let format = Format(colorType: 2, depth: 8)
        let faulty = [
            png(format) { $0 == 7 ? 5 : 4 }, png(format, rows: height - 1) { _ in 1 },
            png(format, checksum: 1) { _ in 1 }, png(format, header: [0x79, 0x01]) { _ in 1 },
        ]
        for (number, file) in faulty.enumerated() {
            let errors = [file, file.dropLast(12)].map { bytes in
                #expect(throws: LoadError.self, "\(number)") { try pixels(Array(bytes)) }?.code
            }
            #expect(errors == [.damaged, .damaged], "\(number)")
        }
        // The rows before the fault are shown.
        #expect(try part(faulty[0][...])?.0.detail == 7)
    }

    @Test("The memory of a decode includes the inflated rows up to 16 MiB, and is small beyond")
    func memory() throws {
        func needed(_ width: Int, _ height: Int) throws -> Int {
            var options = DecodeOptions(resize: Resize(width: 10))
            options.maximumPixels = .max
            let file = Self.header(width, height, Format(colorType: 6, depth: 8)) + Pieces.chunk("IDAT", [0x78, 1])
            return try registry.memoryNeeded(Bytes(file), options: options)
        }
        let (held, streamed) = try (needed(1000, 4000), needed(1000, 4300))
        #expect((16_000_000..<18_000_000).contains(held - streamed))
        // Rows of more than a block of deflate.
        #expect(try needed(20_000, 10) < 20_000 * 10 * 4 + 2_000_000)
    }

    // MARK: Files

    private func pixels(_ file: [UInt8]) throws -> Bytes {
        try registry.decode(Bytes(file)).0.bytes
    }

    private func part(_ file: ArraySlice<UInt8>) throws -> (PartialImage, ImageInfo)? {
        try registry.decodePart(Bytes(Array(file)), options: DecodeOptions(), cancellation: CancellationFlag())
    }

    private static func header(_ width: Int, _ height: Int, _ format: Format) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + Pieces.chunk(
                "IHDR",
                Pieces.big32(width) + Pieces.big32(height) + [UInt8(format.depth), UInt8(format.colorType), 0, 0, 0])
    }

    /// Returns an image of noise, whose rows have these filters.
    private func png(
        _ format: Format, rows: Int? = nil, header: [UInt8] = [0x78, 0x01], checksum: UInt32 = 0,
        chunkSizes: [Int] = [], trailing: [UInt8] = [], filter: (_ row: Int) -> Int
    ) -> [UInt8] {
        var random = SeededGenerator(seed: 1)
        let rowSize = (width * format.bitsPerPixel + 7) / 8
        var data: [UInt8] = []
        for row in 0..<(rows ?? height) {
            data.append(UInt8(filter(row)))
            // Any bytes are a filtered row.
            data += (0..<rowSize).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        }
        var left = header + stored(data) + Pieces.big32(Int(adler(data) ^ checksum)) + trailing
        var file = Self.header(width, height, format)
        if format.colorType == 3 {
            file += Pieces.chunk("PLTE", (0..<3 << format.depth).map { UInt8($0 & 0xFF) })
        }
        for size in chunkSizes {
            file += Pieces.chunk("IDAT", Array(left.prefix(size)))
            left = Array(left.dropFirst(size))
        }
        return file + Pieces.chunk("IDAT", left) + Pieces.chunk("IEND", [])
    }

    private func stored(_ data: [UInt8]) -> [UInt8] {
        [1] + Pieces.little16(data.count) + Pieces.little16(~data.count) + data
    }

    private func adler(_ data: [UInt8]) -> UInt32 {
        let (a, b) = data.reduce((1 as UInt32, 0 as UInt32)) { sums, byte in
            let a = (sums.0 + UInt32(byte)) % 65_521
            return (a, (sums.1 + a) % 65_521)
        }
        return b << 16 | a
    }
}
