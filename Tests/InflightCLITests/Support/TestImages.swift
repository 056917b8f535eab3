import Inflight
import InflightConcurrency
import InflightCore

/// Test images for the server.
enum TestImages {
    static let codecs = ImagePipeline.Configuration().codecs

    /// A gradient, with alpha from 0 to 255 if it `isTransparent`.
    static func pixels(_ width: Int, _ height: Int, isTransparent: Bool = false) -> PixelBuffer {
        unsafe PixelBuffer(width: width, height: height, format: isTransparent ? .rgba : .rgbx) { memory in
            for y in 0..<height {
                for x in 0..<width {
                    let offset = (y * width + x) * 4
                    unsafe memory[offset] = UInt8(x * 255 / max(1, width - 1))
                    unsafe memory[offset + 1] = UInt8(y * 255 / max(1, height - 1))
                    unsafe memory[offset + 2] = UInt8((x ^ y) & 0xFF)
                    unsafe memory[offset + 3] = isTransparent ? UInt8(x * 255 / max(1, width - 1)) : 255
                }
            }
        }
    }

    /// Soft shapes and noise, different for each seed: about as hard to compress as a photograph.
    static func noise(_ width: Int, _ height: Int, seed: Int) -> PixelBuffer {
        var state = UInt32(truncatingIfNeeded: seed) &* 2_654_435_761 &+ 1
        return unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            for place in 0..<width * height {
                state = state &* 1_664_525 &+ 1_013_904_223
                let (x, y) = (place % width, place / width)
                let wave = ((x &* (3 + seed % 5)) ^ (y &* (2 + seed % 7))) & 0x7F
                for channel in 0..<3 {
                    let grain = Int(state >> UInt32(8 * channel + 3)) & 0x1F
                    unsafe memory[place * 4 + channel] = UInt8(min(255, wave + x * (channel + 1) / 2 + grain))
                }
                unsafe memory[place * 4 + 3] = 255
            }
        }
    }

    static func make(_ format: ImageFormat, _ width: Int, _ height: Int, isTransparent: Bool = false) throws -> Bytes {
        try codecs.encode(
            pixels(width, height, isTransparent: isTransparent), options: EncodeOptions(format: format))
    }

    /// A single grey pixel (GIF89a, sections 15 to 22).
    static let gif = Bytes(
        Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0x80, 0x80, 0x80, 0, 0, 0]
            + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B])

    /// A GIF89a animation. Each frame has one of eight colours (1 red, 2 green, 4 blue; sums are mixtures) and lasts
    /// `hundredths` of a second. All frames play `loops` times, or forever if it is 0.
    static func animation(_ width: Int, _ height: Int, colors: [UInt8], hundredths: Int, loops: Int) -> Bytes {
        func word(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }
        var bytes = Array("GIF89a".utf8) + word(width) + word(height) + [0xF2, 0, 0]
        for color in 0..<8 { bytes += [0, 1, 2].map { color >> $0 & 1 == 1 ? 255 : 0 } }
        // The number of repetitions is one less than the number of plays.
        if loops != 1 {
            bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + word(max(0, loops - 1)) + [0]
        }
        for color in colors {
            bytes +=
                [0x21, 0xF9, 4, 4] + word(hundredths) + [0, 0, 0x2C] + word(0) + word(0) + word(width) + word(height)
            // Codes of four bits, cleared often enough that they never become longer.
            var codes: [UInt8] = []
            for pixel in 0..<width * height {
                if pixel % 6 == 0 { codes.append(8) }
                codes.append(color)
            }
            codes.append(9)
            if codes.count % 2 == 1 { codes.append(0) }
            let data = stride(from: 0, to: codes.count, by: 2).map { codes[$0] | codes[$0 + 1] << 4 }
            bytes += [0, 3]
            for start in stride(from: 0, to: data.count, by: 255) {
                let block = data[start..<min(data.count, start + 255)]
                bytes += [UInt8(block.count)] + block
            }
            bytes.append(0)
        }
        return Bytes(bytes + [0x3B])
    }

    /// Decodes a stored image.
    static func decode(_ bytes: [UInt8]?) throws -> (PixelBuffer, ImageInfo) {
        try codecs.decode(Bytes(bytes ?? []), options: DecodeOptions(), cancellation: CancellationFlag())
    }

    /// A PNG that declares a size but contains no pixels.
    static func hugePNG(_ width: UInt32, _ height: UInt32) -> Bytes {
        func bytes(_ number: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
        func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
            let body = Array(type.utf8) + data
            return bytes(UInt32(data.count)) + body + bytes(CRC32.of(body))
        }
        let header = bytes(width) + bytes(height) + [8, 2, 0, 0, 0]
        return Bytes(
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
                + chunk("IDAT", [0x78, 0x9C, 0x03, 0, 0, 0, 0, 1]) + chunk("IEND", []))
    }
}

/// The checksum of PNG and gzip (RFC 1952 section 8).
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        var value = UInt32(index)
        for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        return value
    }

    static func of(_ bytes: [UInt8]) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes { crc = crc >> 8 ^ table[Int((crc ^ UInt32(byte)) & 0xFF)] }
        return ~crc
    }
}
