import InflightConcurrency
import InflightCore

@testable import InflightCodecs

extension Target {
    /// The content of a PNG's `cICP` chunk, after a byte whose lowest bit selects 16 bits per sample instead of 8.
    static let codedColor = Target(name: "cicp") { input in
        guard let kind = input.first else { return }
        let numbers = Array(input.dropFirst())
        let isDeep = kind & 1 == 1
        let plain = decoded(colorsPNG(isDeep, numbers: nil))
        let coded = decoded(colorsPNG(isDeep, numbers: numbers))
        guard let plain, let coded else { return require(false, "no numbers make an image damaged") }
        for place in stride(from: 3, to: plain.pixels.count, by: 4) {
            require(plain.pixels[place] == coded.pixels[place], "numbers do not change alpha")
        }
        guard let primaries = coded.primaries else {
            return require(plain.pixels == coded.pixels, "unknown numbers change no colour")
        }
        let isWellFormed = numbers.count == 4 && numbers[0] == primaries && numbers[2] == 0 && numbers[3] <= 1
        require(isWellFormed, "numbers that are used are well-formed")
        for start in [0, 4, 8] {
            let levels = coded.pixels[start..<start + 3]
            require(Int(levels.max() ?? 0) - Int(levels.min() ?? 0) <= 1, "grey stays grey")
        }
        require(coded.pixels[0] <= 1 && coded.pixels[8] >= 254, "black stays black, and white stays white")
    }

    private static func decoded(_ file: [UInt8]) -> (pixels: [UInt8], primaries: Int?)? {
        let (codec, bytes) = (PNGCodec(), Bytes(file))
        guard case .info(let info)? = try? codec.probe(bytes, format: .png, isComplete: true),
            let pixels = try? codec.decode(
                bytes, format: .png, options: DecodeOptions(), cancellation: CancellationFlag())
        else { return nil }
        return (pixels.bytes.array, info.colorPrimaries)
    }

    /// A PNG of one row: black, grey, white, and a colour, with alpha.
    private static func colorsPNG(_ isDeep: Bool, numbers: [UInt8]?) -> [UInt8] {
        let samples: [UInt8] = [0, 0, 0, 255, 119, 119, 119, 255, 255, 255, 255, 255, 200, 80, 60, 130]
        let row = [0] + (isDeep ? samples.flatMap { [$0, $0] } : samples)
        var sums = (low: 1, high: 0)
        for byte in row {
            sums.low = (sums.low + Int(byte)) % 65_521
            sums.high = (sums.high + sums.low) % 65_521
        }
        let count = UInt8(row.count)
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        func add(_ name: String, _ content: [UInt8]) {
            PNGFrameRewriter.chunk(in: &file) { $0 += Array(name.utf8) + content }
        }
        add("IHDR", [0, 0, 0, 4, 0, 0, 0, 1, isDeep ? 16 : 8, 6, 0, 0, 0])
        if let numbers { add("cICP", numbers) }
        let sum = [sums.high >> 8, sums.high & 255, sums.low >> 8, sums.low & 255].map { UInt8($0) }
        // One stored block (RFC 1950, RFC 1951 section 3.2.4).
        add("IDAT", [0x78, 1, 1, count, 0, ~count, 0xFF] + row + sum)
        add("IEND", [])
        return file
    }
}
