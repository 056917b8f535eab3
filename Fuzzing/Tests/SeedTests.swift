import Foundation
import InflightTestSupport
import Testing

/// The small form of `make fuzz`, for every run of the tests: each target with its seeds, and with random changes of
/// them.
@Suite("Parsers of untrusted input")
struct SeedTests {
    @Test("Every property holds for the seeds of a fuzz target and random changes of them", arguments: Target.all)
    func seeds(target: Target) throws {
        let seeds = try Self.seeds(of: target)
        try #require(!seeds.isEmpty)
        var random = SeededGenerator(seed: 1)
        for seed in seeds {
            Self.$input.withValue(seed) { target.run(seed) }
            for _ in 0..<100 {
                let changed = Self.changed(seed, by: &random)
                Self.$input.withValue(changed) { target.run(changed) }
            }
        }
    }

    @Test("Every file of seeds belongs to a fuzz target")
    func names() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
        #expect(files.sorted() == Target.all.map { "\($0.name).txt" }.sorted())
    }

    /// The input of the running target.
    @TaskLocal fileprivate static var input: [UInt8] = []

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Seeds").path

    /// The running target's input as a line of its seeds.
    fileprivate static var line: String {
        input.map { byte in
            switch byte {
            case UInt8(ascii: "\\"): "\\\\"
            case 0x20..<0x7F: String(UnicodeScalar(byte))
            default: "\\x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
            }
        }.joined()
    }

    /// The seeds: one input per line, with the escapes of Scripts/fuzz.py.
    private static func seeds(of target: Target) throws -> [[UInt8]] {
        let text = try Data(contentsOf: URL(filePath: "\(folder)/\(target.name).txt"))
        return text.split(separator: UInt8(ascii: "\n")).map { line in
            var bytes: [UInt8] = []
            var rest = line[...]
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                    bytes.append(byte)
                    continue
                }
                switch escape {
                case UInt8(ascii: "n"): bytes.append(0x0A)
                case UInt8(ascii: "r"): bytes.append(0x0D)
                case UInt8(ascii: "t"): bytes.append(0x09)
                case UInt8(ascii: "x"):
                    bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                    rest = rest.dropFirst(2)
                default: bytes.append(escape)
                }
            }
            return bytes
        }
    }

    /// A copy with one to four changes: a changed bit or byte, a removed, repeated or inserted range, a shorter end.
    private static func changed(_ seed: [UInt8], by random: inout SeededGenerator) -> [UInt8] {
        var bytes = seed
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard !bytes.isEmpty else { return [UInt8.random(in: 0...255, using: &random)] }
            let position = Int.random(in: bytes.indices, using: &random)
            let end = min(bytes.count, position + Int.random(in: 1...8, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[position] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            case 2: bytes.removeSubrange(position..<end)
            case 3: bytes.insert(contentsOf: bytes[position..<end], at: position)
            case 4: bytes.insert(UInt8.random(in: 0...255, using: &random), at: position)
            default: bytes.removeLast(bytes.count - position)
            }
        }
        return bytes
    }
}

/// Records an issue if a property does not hold. In the fuzzer, `require` of `Entry.swift` aborts.
func require(_ isTrue: Bool, _ property: @autoclosure () -> String) {
    if !isTrue { Issue.record("does not hold: \(property()), for the input \(SeedTests.line)") }
}
