import InflightCore
import InflightPictures
import Testing

/// A file that demands resources out of proportion to its size, and a valid file of the same format.
struct HostileFile: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: [UInt8]
    var good: [UInt8] = HostileFile.goodPNG

    var testDescription: String { name }

    private static let goodPNG = made(.png)

    private static func made(_ format: ImageFormat) -> [UInt8] {
        do { return try TestImages.make(format, 60, 40).array } catch { preconditionFailure("\(error)") }
    }

    // MARK: - Sizes declared by the header only

    static let sizes: [HostileFile] = [
        HostileFile(name: "GIF of 35 bytes, 65,535 × 65,535", bytes: gif),
        HostileFile(name: "PNG, 2,147,483,647 × 2,147,483,647", bytes: TestImages.hugePNG(.max >> 1, .max >> 1).array),
        HostileFile(name: "PNG, 100,000 × 100,000", bytes: TestImages.hugePNG(100_000, 100_000).array),
        HostileFile(name: "JPEG, 65,500 × 65,500", bytes: jpeg, good: made(.jpeg)),
        HostileFile(name: "WebP, lossless, 16,384 × 16,384", bytes: webP, good: made(.webp)),
        HostileFile(name: "WebP, a canvas of 16,777,216 × 255", bytes: canvas, good: made(.webp)),
        HostileFile(name: "BMP, 65,536 × 65,536", bytes: bitmap),
        HostileFile(name: "AVIF, 65,535 × 65,535", bytes: avif, good: AVIFFixtures.plain),
        HostileFile(name: "HEIC, 65,535 × 65,535", bytes: heic, good: HEICFixtures.plain),
        HostileFile(name: "TIFF, 65,535 × 65,535", bytes: tiff, good: TIFFPieces().file),
        HostileFile(name: "JPEG XL, 1,073,741,824 × 1,073,741,824", bytes: jpegXL, good: JPEGXLFixtures.lossy),
    ]

    private static let gif: [UInt8] = {
        let head = Array("GIF89a".utf8) + [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0]
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 2, 1, 0x4C, 0, 0x3B]
        return head + frame + [UInt8](repeating: 0, count: 35 - head.count - frame.count)
    }()

    /// A valid file whose frame header declares another size.
    private static let jpeg: [UInt8] = {
        var file = made(.jpeg)
        guard let frame = file.indices.first(where: { file[$0] == 0xFF && file[$0 + 1] == 0xC0 }) else {
            preconditionFailure("no baseline JPEG")
        }
        file.replaceSubrange(frame + 5..<frame + 9, with: Pieces.big16(65_500) + Pieces.big16(65_500))
        return file
    }()

    private static let webP: [UInt8] = {
        let content = [0x2F] + Pieces.little32(16_383 | 16_383 << 14) + [0, 0, 0]
        return Pieces.webP(Array("VP8L".utf8) + Pieces.little32(content.count) + content)
    }()

    private static let canvas: [UInt8] = {
        var content = Array(webP[12...])
        content.replaceSubrange(9..<13, with: Pieces.little32(16_383 | 254 << 14))
        return animation(width: 1 << 24, height: 255, frame: (16_384, 255, 0), content)
    }()

    /// A 24 × 16 animation whose only frame declares 10,000 × 10,000 in its own header, and has all of those pixels.
    static let swellingFrame: [UInt8] = {
        // No transform, no cache, and five codes of one symbol, which take no bits (RFC 9649 section 3.7.2.1.1).
        let pixels = [0x2F] + Pieces.little32(9_999 | 9_999 << 14) + [0x88, 0x88, 0x08, 0, 0, 0]
        let content = Array("VP8L".utf8) + Pieces.little32(pixels.count) + pixels
        return animation(width: 24, height: 16, frame: (24, 16, 100), content)
    }()

    /// A WebP animation of one frame at the corner of its canvas (RFC 9649 section 2.7.1.1).
    private static func animation(
        width: Int, height: Int, frame: (width: Int, height: Int, milliseconds: Int), _ content: [UInt8]
    ) -> [UInt8] {
        let numbers = [0, 0, frame.width - 1, frame.height - 1].flatMap { Pieces.little32($0)[..<3] }
        let body = numbers + Pieces.little32(frame.milliseconds) + content
        let animation = Array("ANIM".utf8) + Pieces.little32(6) + [0, 0, 0, 0, 0, 0]
        return Pieces.webP(
            Pieces.webPCanvas(width: width, height: height, flags: 2) + animation + Array("ANMF".utf8)
                + Pieces.little32(body.count) + body)
    }

    static let goodWebP = made(.webp)

    private static let bitmap =
        Array("BM".utf8) + Pieces.little32(54) + Pieces.little32(0) + Pieces.little32(54) + Pieces.little32(40)
        + Pieces.little32(65_536) + Pieces.little32(65_536) + Pieces.little16(1) + Pieces.little16(24)
        + [UInt8](repeating: 0, count: 24)

    private static let avif: [UInt8] = {
        var pieces = HEIFPieces()
        pieces.properties = [HEIFPieces.size(65_535, 65_535), HEIFPieces.codec(bits: 8)]
        pieces.associations = [[1, 2]]
        return pieces.file
    }()

    /// A valid file whose `ispe` box declares another size.
    private static let heic: [UInt8] = {
        var file = HEICFixtures.plain
        let name = Array("ispe".utf8)
        for index in file.indices.dropLast(16) where Array(file[index..<index + 4]) == name {
            file.replaceSubrange(index + 8..<index + 16, with: Pieces.big32(65_535) + Pieces.big32(65_535))
        }
        // The clean aperture, in whole pixels.
        let part = Array("clap".utf8)
        for index in file.indices.dropLast(36) where Array(file[index..<index + 4]) == part {
            file.replaceSubrange(
                index + 4..<index + 36, with: [65_535, 1, 65_535, 1, 0, 1, 0, 1].flatMap(Pieces.big32))
        }
        return file
    }()

    private static let tiff: [UInt8] = {
        var pieces = TIFFPieces()
        pieces.width = 65_535
        pieces.height = 65_535
        return pieces.file
    }()

    /// A codestream (ISO/IEC 18181-1 annex D) with both sides in 30 bits and default metadata.
    private static let jpegXL: [UInt8] = {
        var bits = BitWriter()
        bits.write(0, 1)
        bits.write(3, 2)
        bits.write((1 << 30) - 1, 30)
        bits.write(0, 3)
        bits.write(3, 2)
        bits.write((1 << 30) - 1, 30)
        bits.write(1, 1)
        return [0xFF, 0x0A] + bits.bytes + [UInt8](repeating: 0, count: 64)
    }()
}

/// Writes bits into bytes, lowest bit first.
struct BitWriter {
    private(set) var bytes: [UInt8] = []
    /// The number of bits used in the last byte; 0 if it is full.
    private(set) var used = 0

    mutating func write(_ value: Int, _ count: Int) {
        for index in 0..<count {
            if used == 0 { bytes.append(0) }
            bytes[bytes.count - 1] |= UInt8(value >> index & 1) << UInt8(used)
            used = (used + 1) % 8
        }
    }

    /// Writes a Huffman code, highest bit first.
    mutating func writeCode(_ code: Int, _ count: Int) {
        for index in (0..<count).reversed() { write(code >> index & 1, 1) }
    }
}
