import InflightCore
import InflightPictures

extension HostileFile {
    /// Valid images with data beside their pixels that expands enormously or is very long.
    static let burdens: [HostileFile] = [
        HostileFile(name: "PNG, a profile that swells to 256 MB", bytes: png("iCCP", swollenProfile), good: goodPixels),
        HostileFile(name: "PNG, a text that swells to 256 MB", bytes: png("zTXt", swollenText), good: goodPixels),
        HostileFile(
            name: "PNG, XMP that swells to 256 MB", bytes: png("iTXt", swollenRecord), good: goodPixels),
        HostileFile(name: "PNG, 20 MB of EXIF", bytes: hugeRecord, good: goodPixels),
        HostileFile(name: "JPEG, 16 MB of a profile", bytes: longJPEG, good: jpegPixels),
        HostileFile(name: "WebP, 20 MB of a profile", bytes: longWebP, good: webPPixels),
        HostileFile(name: "TIFF, 20 MB of a profile", bytes: longTIFF, good: TIFFPieces().file),
        HostileFile(name: "GIF, 500,000 frames", bytes: longGIF, good: TestImages.gif.array),
    ]

    private static let goodPixels = pixels(.png)
    private static let jpegPixels = pixels(.jpeg)
    private static let webPPixels = pixels(.webp)

    private static func pixels(_ format: ImageFormat) -> [UInt8] {
        do { return try TestImages.make(format, 60, 40).array } catch { preconditionFailure("\(error)") }
    }

    /// Same as `Pieces.png(_:adding:)`, with a table-driven checksum, because these chunks are long.
    private static func png(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        let chunk = Pieces.big32(content.count) + body + Pieces.big32(Int(CRC32.of(body)))
        return Pieces.png(goodPixels, adding: chunk)
    }

    static let hugeRecord: [UInt8] = png(
        "eXIf", Pieces.exif(orientation: 1) + [UInt8](repeating: 0, count: 20_000_000))

    private static let count = 256_000_000

    /// `front` and zeros up to `count` bytes, compressed to a hundredth (RFC 1950, RFC 1951 section 3.2.6).
    private static func swelling(_ front: [UInt8]) -> [UInt8] {
        var bits = BitWriter()
        bits.write(1, 1)
        bits.write(1, 2)
        var (a, b) = (1, 0)
        for byte in front + [0] {
            if byte < 144 { bits.writeCode(0x30 + Int(byte), 8) } else { bits.writeCode(0x190 + Int(byte) - 144, 9) }
            a = (a + Int(byte)) % 65521
            b = (b + a) % 65521
        }
        // Symbol 285, distance 1: the previous byte 258 times. Eight of these matches take 13 bytes.
        let matches = (count - front.count) / 258 / 8 * 8
        for _ in 0..<16 {
            bits.writeCode(0b1100_0101, 8)
            bits.writeCode(0, 5)
        }
        let period = Array(bits.bytes[(bits.bytes.count - 14)..<(bits.bytes.count - 1)])
        var packed = Array(bits.bytes.dropLast())
        for _ in 0..<(matches - 16) / 8 { packed += period }
        // The bits begun in the last byte are followed by the end-of-block symbol 256: seven zeros.
        packed.append(bits.bytes[bits.bytes.count - 1])
        if bits.used != 1 { packed.append(0) }
        b = (b + a * (matches * 258 % 65521)) % 65521
        return [0x78, 0x01] + packed + Pieces.big32(b << 16 | a)
    }

    private static let swollenProfile: [UInt8] = {
        var profile = Pieces.profile(order: [2, 1, 0], gamma: 2.2, name: "swollen")
        profile.replaceSubrange(0..<4, with: Pieces.big32(count))
        return Array("swollen\0\0".utf8) + swelling(profile)
    }()

    private static let swollenText = Array("Comment\0\0".utf8) + swelling([])
    private static let swollenRecord = Array("XML:com.adobe.xmp\0".utf8) + [1, 0, 0, 0] + swelling([])

    /// A profile in the maximum number of segments, each of the maximum size.
    private static let longJPEG: [UInt8] = {
        let part = [UInt8](repeating: 0, count: 65_535 - 16)
        var segments: [UInt8] = []
        for number in 1...255 {
            let front = number == 1 ? Pieces.profile(order: [2, 1, 0], gamma: 2.2, name: "long") : []
            segments += [0xFF, 0xE2, 0xFF, 0xFF] + Array("ICC_PROFILE\0".utf8) + [UInt8(number), 255] + front
            segments += part[front.count...]
        }
        return jpegPixels[..<2] + segments + jpegPixels[2...]
    }()

    private static let longProfile =
        Pieces.profile(order: [2, 1, 0], gamma: 2.2, name: "long") + [UInt8](repeating: 0, count: 20_000_000)

    private static let longWebP: [UInt8] = {
        let profile = longProfile + [UInt8](repeating: 0, count: longProfile.count % 2)
        return Pieces.webP(
            Pieces.webPCanvas(width: 60, height: 40, flags: 0x20) + Array("ICCP".utf8)
                + Pieces.little32(profile.count) + profile + webPPixels[12...])
    }()

    private static let longTIFF: [UInt8] = {
        var pieces = TIFFPieces()
        pieces.profile = longProfile
        return pieces.file
    }()

    private static let longGIF: [UInt8] = {
        let good = TestImages.gif.array
        // One frame: its descriptor and its pixels.
        let frame = Array(good[19..<good.count - 1])
        var file = Array(good[..<19])
        file.reserveCapacity(19 + frame.count * 500_000 + 1)
        for _ in 0..<500_000 { file += frame }
        return file + [0x3B]
    }()
}
