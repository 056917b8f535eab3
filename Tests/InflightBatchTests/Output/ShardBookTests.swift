import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Shard assembly", .timeLimit(.minutes(10)))
struct ShardBookTests {
    private func book(
        size: Int = 2, limit: Int64 = 100, open: Int = 64, reserve: Int64 = 0, assemblies: Int = .max,
        finished: [Range<Int>] = []
    ) throws -> ShardBook {
        let layout = try #require(ShardLayout(shardSize: size))
        var configuration = ShardBook.Configuration(
            layout: layout, stagingLimit: limit, openShardLimit: open, bytesPerRowInFlight: reserve)
        configuration.maximumAssemblies = assemblies
        return ShardBook(configuration, finishedShards: ShardSet(finished))
    }

    private func text(_ actions: [ShardBook.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .discard(let shard): "discard \(shard)"
            case .assemble(let shard, let rows, let parts):
                "assemble \(shard) \(rows): " + parts.map(text).joined(separator: " ")
            }
        }
    }

    private func text(_ part: ShardBook.Part) -> String {
        switch part {
        case .image(let row): "\(row)"
        case .failure(let row): "!\(row)"
        case .finished(let row): "=\(row)"
        }
    }

    @Test("While staging is full, only rows of the oldest open shard are read and started")
    func full() throws {
        var book = try book(limit: 10)
        for row in 0...2 { try book.rowDidStart(row) }
        #expect(book.wantsRow(4) && book.wantsRow(127) && !book.wantsRow(128))
        #expect(try book.rowDidEnd(2, .success(10)).isEmpty)
        #expect(book.wantsRow(1) && !book.wantsRow(3) && book.fullCount == 1)
        // It was read before the folder became full.
        #expect(!book.admits(3))
        book.park(3, since: .seconds(1))
        #expect(book.unpark(room: 8).isEmpty)
        for row in 0...1 { _ = try book.rowDidEnd(row, .success(10)) }
        #expect(book.unpark(room: 8).isEmpty)
        #expect(try text(book.shardDidAssemble(0)) == ["discard 0"])
        #expect(book.unpark(room: 0).map(\.number) == [3])
        #expect(book.unpark(room: 8).isEmpty && !book.wantsRow(4))
    }

    @Test("A shard is assembled when its last row has ended, and its images are discarded when it is finished")
    func wholeShard() throws {
        var book = try book()
        #expect(try text(book.rowDidEnd(1, .success(10))) == [])
        #expect(try text(book.rowDidEnd(2, .failure(class: "dns", message: ""))) == [])
        #expect(try text(book.rowDidEnd(0, .success(10))) == ["assemble 0 0..<2: 0 1"])
        #expect(try text(book.rowDidEnd(0, .success(10))) == [])
        #expect(book.stagedBytes == 20)
        #expect(try text(book.shardDidAssemble(0)) == ["discard 0"])
        #expect(book.stagedBytes == 0)
        #expect(throws: BatchFailure.inconsistent("notAssembling(0)")) { try book.shardDidAssemble(0) }
        #expect(throws: BatchFailure.inconsistent("notAssembling(1)")) { try book.shardDidAssemble(1) }
        #expect(try text(book.inputDidEnd(rowCount: 3)) == ["assemble 1 2..<3: !2"])
        #expect(!book.isFinished)
        #expect(try text(book.shardDidAssemble(1)) == ["discard 1"])
        #expect(book.isFinished)
    }

    @Test("An input without rows has no shards")
    func emptyInput() throws {
        var book = try book()
        #expect(!book.isFinished)
        #expect(try text(book.inputDidEnd(rowCount: 0)) == [])
        #expect(book.isFinished && !book.admits(0))
    }

    @Test("A shard waits for the originals of its duplicates, and keeps their images while it is assembled")
    func duplicates() throws {
        var book = try book()
        _ = try book.rowDidEnd(1, .duplicate(of: 0))
        _ = try book.rowDidEnd(2, .duplicate(of: 1))
        #expect(try text(book.rowDidEnd(3, .success(10))) == [])
        #expect(
            try text(book.rowDidEnd(0, .success(10)))
                == ["assemble 0 0..<2: 0 0", "assemble 1 2..<4: 0 3"])
        #expect(try text(book.shardDidAssemble(0)) == [])
        #expect(book.stagedBytes == 20)
        #expect(try text(book.rowDidEnd(4, .duplicate(of: 0))) == [])
        #expect(try text(book.rowDidEnd(5, .duplicate(of: 2))) == ["assemble 2 4..<6: =0 =0"])
        #expect(try text(book.shardDidAssemble(1)) == ["discard 0", "discard 1"])
        #expect(try text(book.shardDidAssemble(2)) == ["discard 2"])
    }

    @Test("A duplicate of a failed row fails")
    func failedOriginal() throws {
        var book = try book(size: 1)
        _ = try book.rowDidEnd(1, .duplicate(of: 0))
        let actions = try book.rowDidEnd(0, .failure(class: "dns", message: ""))
        #expect(text(actions) == ["assemble 0 0..<1: !0", "assemble 1 1..<2: !0"])
    }

    @Test("Rows far ahead of the oldest open shard may fill half of the staging folder")
    func farAhead() throws {
        let layout = try #require(ShardLayout(shardSize: 2))
        var configuration = ShardBook.Configuration(layout: layout, stagingLimit: 20)
        configuration.nearShards = 2
        var book = ShardBook(configuration)
        #expect(book.wantsRow(100) && book.admits(100))
        _ = try book.rowDidEnd(100, .success(10))
        #expect(book.wantsRow(3) && book.admits(3) && !book.wantsRow(4) && !book.admits(4))
        for row in [5, 2] { book.park(row, since: .zero) }
        #expect(book.unpark(room: 8).map(\.number) == [2])
        _ = try book.rowDidEnd(0, .failure(class: "dns", message: ""))
        _ = try book.rowDidEnd(1, .failure(class: "dns", message: ""))
        _ = try book.shardDidAssemble(0)
        #expect(book.unpark(room: 8).map(\.number) == [5] && book.admits(4) && !book.admits(6))
        _ = try book.rowDidEnd(2, .success(10))
        #expect(book.preferredShard == 1 && book.admits(3) && !book.admits(4) && !book.wantsRow(4))
    }

    @Test("Complete shards wait while as many assemblies run as may, and are assembled in their order")
    func assemblies() throws {
        var book = try book(size: 1, assemblies: 1)
        #expect(try text(book.rowDidEnd(2, .success(10))) == ["assemble 2 2..<3: 2"])
        #expect(try text(book.rowDidEnd(1, .duplicate(of: 0))) == [])
        #expect(try text(book.rowDidEnd(3, .success(10))) == [])
        #expect(try text(book.rowDidEnd(0, .success(10))) == [])
        #expect(try text(book.shardDidAssemble(2)) == ["discard 2", "assemble 3 3..<4: 3"])
        // Its image is fetched again, and row 1 has to wait for nothing but an assembly.
        let (restarted, actions) = try book.shardDidLose([3], shard: 3)
        #expect(restarted == [3] && text(actions) == ["assemble 0 0..<1: 0"])
        #expect(try text(book.rowDidEnd(3, .success(10))) == [])
        #expect(try text(book.shardDidAssemble(0)) == ["discard 0", "assemble 1 1..<2: =0"])
        #expect(try text(book.shardDidAssemble(1)) == ["discard 1", "assemble 3 3..<4: 3"])
    }

    @Test("Rows that may not start wait by their shards, and start in their order when there is room")
    func parked() throws {
        var book = try book(limit: 10)
        _ = try book.rowDidEnd(6, .success(10))
        for row in [5, 2, 3, 4] { book.park(row, since: .seconds(row)) }
        #expect(book.unpark(room: 8).isEmpty)
        for row in 0...1 { _ = try book.rowDidEnd(row, .failure(class: "dns", message: "")) }
        _ = try book.shardDidAssemble(0)
        // Only the oldest shard, whatever the room.
        let rows = book.unpark(room: 1)
        #expect(rows.map(\.number) == [2, 3] && rows.map(\.since) == [.seconds(2), .seconds(3)])
        _ = try book.rowDidEnd(7, .failure(class: "dns", message: ""))
        _ = try book.shardDidAssemble(3)
        #expect(!book.isFull)
        #expect(book.unpark(room: 1).map(\.number) == [5])
        #expect(book.unpark(room: 8).map(\.number) == [4])
    }

    @Test("When staging is full, only rows of the lowest unfinished shard are admitted")
    func fullStaging() throws {
        var book = try book(limit: 30)
        _ = try book.rowDidEnd(2, .success(29))
        #expect(book.preferredShard == nil && book.admits(3))
        _ = try book.rowDidEnd(4, .success(1))
        #expect(book.preferredShard == 0 && book.fullCount == 1)
        #expect([0, 1, 2, 3, 4, 5].filter(book.admits) == [0, 1])
        _ = try book.rowDidEnd(0, .success(10))
        #expect(try text(book.rowDidEnd(1, .success(10))) == ["assemble 0 0..<2: 0 1"])
        // The shard is preferred until it is finished, or slow assemblies could fill the disk.
        #expect(book.preferredShard == 0 && !book.admits(3))
        _ = try book.shardDidAssemble(0)
        #expect(book.preferredShard == 1 && book.admits(3) && !book.admits(5))
        _ = try book.rowDidEnd(3, .failure(class: "dns", message: ""))
        _ = try book.shardDidAssemble(1)
        #expect(book.preferredShard == nil && book.admits(5) && book.fullCount == 1)
    }

    @Test("A row in flight counts as staged until it ends")
    func reserve() throws {
        var book = try book(limit: 20, reserve: 10)
        try book.rowDidStart(2)
        try book.rowDidStart(2)
        #expect(!book.isFull)
        try book.rowDidStart(3)
        #expect(book.isFull)
        _ = try book.rowDidEnd(3, .failure(class: "dns", message: ""))
        #expect(!book.isFull && book.startedCount == 1)
        _ = try book.rowDidEnd(2, .success(3))
        #expect(book.startedCount == 0 && book.stagedBytes == 3)
    }

    @Test("No more shards than the limit are open, except the lowest one")
    func openShards() throws {
        var book = try book(open: 2)
        try book.rowDidStart(4)
        try book.rowDidStart(8)
        #expect(!book.admits(2) && book.admits(5) && book.admits(0))
    }

    @Test("The lowest shard proceeds although rows were reported that were not admitted")
    func reportedBeyondLimit() throws {
        var book = try book(size: 1, open: 1)
        _ = try book.rowDidEnd(0, .success(10))
        _ = try book.shardDidAssemble(0)
        for row in [4, 6, 8] { try book.rowDidStart(row) }
        #expect(book.openShardCount == 3)
        #expect(book.admits(1) && !book.admits(2))
    }

    @Test("A resumed run assembles only the shards that are not finished")
    func resumed() throws {
        var book = try book(finished: [0..<1, 2..<3])
        #expect((0..<8).filter(book.admits) == [2, 3, 6, 7])
        #expect(try text(book.rowDidEnd(4, .success(10))) == [])
        _ = try book.rowDidEnd(2, .success(10))
        #expect(try text(book.rowDidEnd(3, .duplicate(of: 0))) == ["assemble 1 2..<4: 2 =0"])
        #expect(throws: BatchFailure.inconsistent("rowCountMismatch(4)")) { try book.inputDidEnd(rowCount: 4) }
        _ = try book.inputDidEnd(rowCount: 6)
        _ = try book.shardDidAssemble(1)
        #expect(book.isFinished)
    }

    @Test("Facts that cannot be true are refused and change nothing")
    func impossibleFacts() throws {
        var book = try book(limit: .max)
        for row in [-1, .min, .max, ShardLayout.maximumRowCount] {
            #expect(throws: BatchFailure.inconsistent("rowOutOfRange(\(row))")) { try book.rowDidStart(row) }
            #expect(throws: BatchFailure.inconsistent("rowOutOfRange(\(row))")) {
                try book.rowDidEnd(row, .success(10))
            }
            #expect(!book.admits(row))
        }
        for original in [5, 6, -1, .max] {
            #expect(throws: BatchFailure.inconsistent("invalidOriginal(\(original))")) {
                try book.rowDidEnd(5, .duplicate(of: original))
            }
        }
        for size in [-1, 8 << 30, Int64.max] {
            #expect(throws: BatchFailure.inconsistent("sizeOutOfRange")) { try book.rowDidEnd(5, .success(size)) }
        }
        #expect(book.openShardCount == 0 && book.stagedBytes == 0)
        try book.rowDidStart(5)
        for count in [5, -1, .max] {
            #expect(throws: BatchFailure.inconsistent("rowCountMismatch(\(count))")) {
                try book.inputDidEnd(rowCount: count)
            }
        }
        _ = try book.inputDidEnd(rowCount: 6)
        #expect(throws: BatchFailure.inconsistent("rowCountMismatch(6)")) { try book.inputDidEnd(rowCount: 6) }
        #expect(throws: BatchFailure.inconsistent("rowOutOfRange(6)")) { try book.rowDidStart(6) }
    }

    private static func world(_ seed: UInt64, order: UInt64 = 0, kills: Bool = false) -> ShardBookWorld {
        var generator = SeededGenerator(seed: seed)
        let truths = ShardBookWorld.truths(count: generator.below(60), generator: &generator)
        return ShardBookWorld(
            truths: truths, shardSize: generator.below(6) + 1, limit: Int64(generator.below(120)),
            openShardLimit: generator.below(5), reserve: Int64(generator.below(4)),
            seed: seed &* 31 &+ order, kills: kills)
    }

    @Test("In any order of events every row is in one shard, and the run ends", arguments: [false, true])
    func randomOrder(kills: Bool) throws {
        var killCount = 0
        for seed in 0..<300 as Range<UInt64> {
            var world = Self.world(seed, kills: kills)
            try world.run()
            killCount += world.killCount
        }
        #expect(kills == (killCount > 200))
    }

    @Test("Two runs over the same outcomes write the same bytes, in any order and with kills")
    func determinism() throws {
        for seed in 0..<40 as Range<UInt64> {
            var first = Self.world(seed)
            try first.run()
            for order in 1...4 as ClosedRange<UInt64> {
                var second = Self.world(seed, order: order, kills: order > 2)
                try second.run()
                #expect(first.output == second.output)
            }
        }
    }

    @Test("Memory does not grow with the number of rows")
    func boundedMemory() throws {
        var book = try book(size: 10)
        for row in 0..<20_000 {
            let outcome: RowOutcome<Int64> = row % 3 == 1 ? .duplicate(of: row - 1) : .success(10)
            for case .assemble(let shard, _, _) in try book.rowDidEnd(row, outcome) {
                _ = try book.shardDidAssemble(shard)
            }
            #expect(book.openShardCount <= 2)
        }
        #expect(book.finishedShards.ranges == [0..<2_000])
    }
}
