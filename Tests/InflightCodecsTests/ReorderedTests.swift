import InflightCodecs
import InflightConcurrency
import InflightCore
import InflightPictures
import InflightTestSupport
import Testing

/// Files whose parts are intact but omitted, repeated, reordered, or changed at one place. Each part passes its own
/// checks, so a decoder may rely on its claims about another part before it has checked them.
@Suite(.timeLimit(.minutes(10)))
struct ReorderedTests {
    /// Splits a file into its beginning and then one part after the other.
    private static func parts(_ bytes: [UInt8]) -> [[UInt8]] {
        switch ImageFormat.detect(Bytes(bytes)) {
        case .png: chunks(bytes, from: 8) { 12 + Int(big32($0, $1)) }
        case .webp: chunks(bytes, from: 12) { 8 + (Int(big32($0, $1 + 4).byteSwapped) + 1) / 2 * 2 }
        case .jpeg: segments(bytes)
        default: stride(from: 0, to: bytes.count, by: 7).map { Array(bytes[$0..<min($0 + 7, bytes.count)]) }
        }
    }

    private static func big32(_ bytes: [UInt8], _ position: Int) -> UInt32 {
        bytes[position..<min(position + 4, bytes.count)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func chunks(_ bytes: [UInt8], from start: Int, length: ([UInt8], Int) -> Int) -> [[UInt8]] {
        var parts = [Array(bytes[..<start])]
        var position = start
        while position + 8 <= bytes.count {
            let end = min(bytes.count, position + length(bytes, position))
            parts.append(Array(bytes[position..<end]))
            position = end
        }
        return parts
    }

    /// Splits before each marker except restart markers and stuffed zeros.
    private static func segments(_ bytes: [UInt8]) -> [[UInt8]] {
        let cuts = bytes.indices.dropLast().filter {
            $0 > 1 && bytes[$0] == 0xFF && ![0, 0xFF].contains(bytes[$0 + 1]) && !(0xD0...0xD7).contains(bytes[$0 + 1])
        }
        return zip([0] + cuts, cuts + [bytes.count]).map { Array(bytes[$0..<$1]) }
    }

    private static func shuffled(_ parts: [[UInt8]], _ random: inout SeededGenerator) -> [UInt8] {
        var parts = parts
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let index = Int.random(in: 1..<parts.count, using: &random)
            let other = Int.random(in: 1...parts.count, using: &random)
            switch random.next() % 4 {
            case 0 where parts.count > 2: parts.remove(at: index)
            case 1: parts.insert(parts[index], at: other)
            case 2: parts.insert(parts.remove(at: index), at: min(other, parts.count))
            default: change(&parts[index], &random)
            }
        }
        var file = parts.flatMap(\.self)
        if ImageFormat.detect(Bytes(file)) == .webp {
            file.replaceSubrange(4..<8, with: Pieces.little32(file.count - 8))
        }
        return file
    }

    /// Changes a byte of a chunk's content and corrects its checksum, if it has one.
    private static func change(_ part: inout [UInt8], _ random: inout SeededGenerator) {
        guard part.count > 8 else { return }
        part[Int.random(in: 8..<min(part.count, 40), using: &random)] = UInt8.random(in: 0...255, using: &random)
        let name = String(decoding: part[4..<8], as: UTF8.self)
        if ["IHDR", "PLTE", "tRNS", "gAMA", "cHRM", "acTL", "eXIf", "iCCP"].contains(name), part.count >= 12 {
            part = Pieces.chunk(name, Array(part[8..<part.count - 4]))
        }
    }

    @Test("Reordered, repeated or missing parts never crash a decoder", arguments: Fixtures.all.map(\.name))
    func shuffled(_ name: String) throws {
        let bytes = try #require(Fixtures.all.first { $0.name == name }).bytes
        let parts = Self.parts(bytes)
        #expect(parts.flatMap(\.self) == bytes)
        var random = SeededGenerator(seed: 0x5EED)
        var options = DecodeOptions()
        options.maximumPixels = 300_000
        for turn in 0..<400 {
            options.resize = turn % 2 == 0 ? nil : Resize(width: 7, height: 5, fit: turn % 4 == 1 ? .fill : .cover)
            let data = Bytes(Self.shuffled(parts, &random))
            _ = try? registry.validate(data)
            _ = try? registry.probe(data, isComplete: false)
            _ = try? registry.decode(data, options: options, cancellation: CancellationFlag())
        }
    }
}
