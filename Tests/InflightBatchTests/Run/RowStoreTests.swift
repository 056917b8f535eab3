import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Contents of rows on disk", .timeLimit(.minutes(1)))
struct RowStoreTests {
    private let directory = TemporaryDirectory()

    private static func row(_ number: Int) -> InputRow {
        // Some rows are larger than a block of the file.
        let size = number % 97 == 5 ? 100_000 : number % 60
        var row = InputRow(number: 0, line: 0, url: "http://h/\(number)/" + String(repeating: "a", count: size))
        if number % 2 == 0 { row.id = "\(number)" }
        if number % 3 == 0 { row.caption = "" }
        if number % 5 == 0 { row.columns = [.init(name: "n", value: .json(Array("\(number)".utf8)))] }
        if number % 7 == 0 { row.boxes = (try? BlurBox.list("[[0.1,0,0.\(number),1],[0,0,1,1]]")) ?? [] }
        return row
    }

    @Test("Every row is found again in any order, while others are appended and shards are released")
    func rows() throws {
        let store = RowStore(in: directory.path)
        let sizes = [1, 300, 64, 65, 128, 1_000]
        var (first, shards) = (0, [] as [Range<Int>])
        for (shard, size) in sizes.enumerated() {
            for index in 0..<size {
                try store.append(Self.row(first + index), shard: shard)
                #expect(try store.row(index / 2, shard: shard) == Self.row(first + index / 2))
            }
            #expect(try store.row(size, shard: shard) == nil && store.row(-1, shard: shard) == nil)
            shards.append(first..<first + size)
            first += size
        }
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2_000 {
            let shard = Int.random(in: 0..<sizes.count, using: &random)
            let index = Int.random(in: 0..<sizes[shard], using: &random)
            #expect(try store.row(index, shard: shard) == Self.row(shards[shard].lowerBound + index))
        }
        for (shard, rows) in shards.enumerated().reversed() {
            let taken = try #require(store.take(shard: shard))
            var block = ShardRows.Block()
            for (index, number) in rows.enumerated() { #expect(try taken.row(index, &block) == Self.row(number)) }
            #expect(try store.row(0, shard: shard) == nil)
        }
        #expect(TemporaryDirectory.names(directory.path).isEmpty)
    }

    @Test("A shard that is released while it is the last one does not change those that follow")
    func releasedAtOnce() throws {
        let store = RowStore(in: directory.path)
        for shard in 0..<50 {
            for index in 0..<700 { try store.append(Self.row(shard * 700 + index), shard: shard) }
            guard shard % 2 == 0 else { continue }
            let taken = try #require(store.take(shard: shard))
            if shard % 4 == 0 { store.putBack(taken, shard: shard) }
        }
        for shard in 0..<50 {
            let isKept = shard % 4 != 2
            #expect(try store.row(699, shard: shard) == (isKept ? Self.row(shard * 700 + 699) : nil))
        }
    }
}
