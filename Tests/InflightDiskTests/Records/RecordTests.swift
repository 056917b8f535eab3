import InflightCore
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightDisk

@Suite("Disk cache: index records", .timeLimit(.minutes(10)))
struct RecordTests {
    @Test(
        "Checksums equal the XXH64 reference values",
        arguments: [
            ("", 0xEF46_DB37_51D8_E999 as UInt64), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
            ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
        ])
    func xxh64(text: String, sum: UInt64) {
        #expect(XXH64.of(text, seed: 0) == sum)
        #expect(XXH64.of(text, seed: 1) != sum)
    }

    @Test("A checksum computed in pieces equals one computed at once") func checksumInPieces() {
        let bytes = Bytes.random(1000, seed: 1).array
        let whole = unsafe bytes.withUnsafeBytes { unsafe XXH64.of($0, seed: 7) }
        for size in [1, 7, 31, 32, 33, 64, 999] {
            var sum = XXH64(seed: 7)
            for start in stride(from: 0, to: bytes.count, by: size) {
                sum.add(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(sum.value == whole, "pieces of \(size)")
        }
    }

    private static let record = EntryRecord(
        key: StoreKey("http://a/b"), stored: WallTime(milliseconds: -5),
        response: .example("http://a/b", bytes: 5..<17, total: 99))

    @Test("A record round-trips through encoding and decoding") func roundTrip() throws {
        #expect(try EntryRecord(Self.record.encoded()) == Self.record)
        #expect(Self.record.encoded().count <= EntryRecord.size(key: Self.record.key, Self.record.response) ?? 0)
    }

    @Test("A truncated record and one with trailing bytes are malformed") func truncatedRecords() {
        let bytes = Self.record.encoded()
        for count in 0..<bytes.count {
            #expect(throws: ByteReader.Malformed.self) { try EntryRecord(Array(bytes[..<count])) }
        }
        #expect(throws: ByteReader.Malformed.self) { try EntryRecord(bytes + [0]) }
    }

    @Test("Corrupt record bytes are rejected or decode to a record that round-trips", arguments: 0..<50)
    func corruptRecords(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var bytes = Self.record.encoded()
            for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if let read = try? EntryRecord(bytes) { #expect((try? EntryRecord(read.encoded())) == read) }
            _ = try? EntryRecord([1] + Bytes.random(random.below(100), seed: random.next()).array)
        }
    }

    @Test("Lengths beyond the input and numbers beyond 64 bits are malformed") func outOfBounds() {
        var writer = ByteWriter()
        writer.byte(1)
        writer.number(UInt64.max)
        #expect(throws: ByteReader.Malformed.self) { try EntryRecord(writer.bytes) }
        var reader = ByteReader([UInt8](repeating: 0xFF, count: 11))
        #expect(throws: ByteReader.Malformed.self) { try reader.number() }
    }
}
