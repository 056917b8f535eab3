import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Shard layouts", .timeLimit(.minutes(5)))
struct ShardLayoutTests {
    /// A digest that differs for all ids of the tests. Not SHA-256.
    static func digest(_ bytes: [UInt8]) -> ContentDigest {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        var digest: [UInt8] = []
        for round in 0..<4 {
            for byte in bytes + [UInt8(round)] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            for shift in 0..<8 { digest.append(UInt8(truncatingIfNeeded: hash >> (shift * 8))) }
        }
        return ContentDigest(digest) ?? digest32
    }

    private static let digest32 = ContentDigest(0..<32)!

    @Test("Shards and keys by position have img2dataset's names")
    func names() throws {
        let layout = try #require(ShardLayout(shardSize: 10_000))
        #expect(layout.archiveName(0) == "00000.tar")
        #expect(layout.sidecarName(12) == "00012.jsonl.zst")
        #expect(layout.statsName(12) == "00012_stats.json")
        #expect(layout.archiveName(123_456) == "123456.tar")
        #expect(layout.positionKey(layout.position(of: 0)) == "000000000")
        #expect(layout.positionKey(layout.position(of: 120_345)) == "000120345")
    }

    @Test("Numbers have more digits if the number of shards or the shard size needs them")
    func digits() throws {
        #expect(try #require(ShardLayout(shardSize: 1, shardCount: 100_000)).shardName(7) == "00007")
        #expect(try #require(ShardLayout(shardSize: 1, shardCount: 100_001)).shardName(7) == "000007")
        let large = try #require(ShardLayout(shardSize: 10_001))
        #expect(large.positionKey(large.position(of: 10_001)) == "0000100000")
        let small = try #require(ShardLayout(shardSize: 1_000, minimumIndexDigits: 1))
        #expect(small.positionKey(small.position(of: 1_002)) == "00001002")
    }

    @Test("A part is in the names of its shards and in its keys")
    func parts() throws {
        let part = try #require(ShardLayout.Part(number: 1, of: 8))
        let layout = try #require(ShardLayout(shardSize: 10_000, part: part))
        #expect(layout.archiveName(0) == "00000-part-0001.tar")
        #expect(layout.positionKey(layout.position(of: 3)) == "000000003-part-0001")
        #expect(ShardLayout.Part(number: 7, of: 10_000)?.suffix == "-part-00007")
        #expect(ShardLayout.Part(number: 9, of: 8) == nil)
        #expect(ShardLayout.Part(number: -1, of: 8) == nil)
        #expect(ShardLayout.Part(number: 0, of: 0) == nil)
    }

    @Test("Each row is in the shard whose range contains it")
    func rows() throws {
        for size in [1, 3, 10] {
            let layout = try #require(ShardLayout(shardSize: size))
            for row in 0..<50 {
                let position = layout.position(of: row)
                #expect(layout.rows(of: position.shard).lowerBound + position.index == row)
                #expect(layout.rows(of: position.shard).contains(row))
            }
            let count = layout.shardCount(rowCount: 50)
            #expect((0..<count).flatMap { Array(layout.rows(of: $0, rowCount: 50)) } == Array(0..<50))
            #expect(layout.rows(of: count, rowCount: 50).isEmpty)
            #expect(layout.rows(of: .max).isEmpty)
        }
        #expect(ShardLayout(shardSize: 0) == nil)
        #expect(ShardLayout(shardSize: 10_000_001) == nil)
    }

    @Test("A path by hash begins with two levels of folders")
    func hashed() {
        let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        #expect(Self.digest32.hex == hex)
        #expect(ShardLayout.hashedPath(Self.digest32, extension: "jpg") == "00/01/\(hex).jpg")
        #expect(ContentDigest([UInt8](repeating: 0, count: 31)) == nil)
    }

    @Test("An id that may be a key is its own key", arguments: ["a", "img_001", "A-b-C", "0", "_"])
    func plainID(id: String) {
        #expect(SampleKey.key(id: Array(id.utf8)) { _ in Self.digest32 } == id)
    }

    @Test(
        "From any other id a safe key with a digest is made",
        arguments: [
            ("", "_--"), ("a/b.jpg", "a_b_jpg--"), ("-x", "_x--"), ("..", "__--"), ("a b", "a_b--"), ("é", "__--"),
            ("a--b", "a-_b--"), ("a\n-", "a__--"),
            (String(repeating: "k", count: 81), String(repeating: "k", count: 46) + "--"),
        ])
    func unsafeID(id: String, prefix: String) {
        let key = SampleKey.key(id: Array(id.utf8)) { _ in Self.digest32 }
        #expect(key == prefix + "000102030405060708090a0b0c0d0e0f")
        #expect(throws: Never.self) { try TarHeader(path: "\(key)--1099511627775.jpeg", size: 0) }
    }

    @Test("Keys of distinct ids are distinct, with equal ids in one dataset too")
    func noCollisions() {
        var generator = SeededGenerator(seed: 1)
        let letters = Array("ab-_./2".utf8)
        var keys: [String: [UInt8]] = [:]
        var unique: Set<String> = []
        for round in 0..<20_000 {
            let id = (0..<generator.below(6)).map { _ in letters[generator.below(letters.count)] }
            let key = SampleKey.key(id: id, digest: Self.digest)
            #expect(key.utf8.allSatisfy { $0.isKeySafe } && !key.hasPrefix("-") && !key.isEmpty)
            #expect(keys.updateValue(id, forKey: key) ?? id == id)
            let isRepeated = unique.contains(key)
            #expect(unique.insert(isRepeated ? SampleKey.repeated(key, row: round) : key).inserted, "round \(round)")
        }
    }

    @Test("A set of shards merges neighbours")
    func shardSet() {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<200 {
            var set = ShardSet([5..<7, 6..<9, 12..<12, -3 ..< -1])
            var reference: Set<Int> = [5, 6, 7, 8]
            for _ in 0..<20 {
                let shard = generator.below(24)
                set.insert(shard)
                reference.insert(shard)
                #expect((0..<26).allSatisfy { set.contains($0) == reference.contains($0) })
                #expect(set.firstMissing == (0...).first { !reference.contains($0) })
                #expect(set.end == (reference.max() ?? -1) + 1)
                #expect(zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            }
        }
    }
}
