import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Shard assembly", .timeLimit(.minutes(10)))
struct ShardAssemblerTests {
    private typealias Assembler = ShardAssembler<String>

    private func assembler(
        size: Int = 2, limit: Int64 = 100, open: Int = 64, reserve: Int64 = 0, finished: [Range<Int>] = []
    ) throws -> Assembler {
        let layout = try #require(ShardLayout(shardSize: size))
        return Assembler(
            .init(layout: layout, stagingLimit: limit, openShardLimit: open, bytesPerRowInFlight: reserve),
            finishedShards: ShardSet(finished))
    }

    private func sample(_ token: String, _ size: Int64 = 10) -> RowOutcome<String> {
        .success(StagedSample(imageSize: size, token: token))
    }

    private func text(_ actions: [Assembler.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .discard(let shard): "discard \(shard)"
            case .assemble(let shard, let rows, let outcomes):
                "assemble \(shard) \(rows): " + outcomes.map(text).joined(separator: " ")
            }
        }
    }

    private func text(_ outcome: AssembledOutcome<String>) -> String {
        switch outcome {
        case .success(let sample): sample.token
        case .failure(let name, _): "!\(name)"
        case .duplicate(let row, .staged(let sample)): "=\(row)(\(sample.token))"
        case .duplicate(let row, .failed(let name, _)): "=\(row)(!\(name))"
        case .duplicate(let row, .finished): "=\(row)"
        }
    }

    @Test("While staging is full, only rows of the oldest open shard are read and started")
    func full() throws {
        var assembler = try assembler(limit: 10)
        for row in 0...2 { try assembler.rowDidStart(row) }
        #expect(assembler.wantsRow(4) && assembler.wantsRow(127) && !assembler.wantsRow(128))
        #expect(try assembler.rowDidEnd(2, sample("c")).isEmpty)
        #expect(assembler.wantsRow(1) && !assembler.wantsRow(3) && assembler.fullCount == 1)
        // It was read before the folder became full.
        #expect(!assembler.admits(3))
        assembler.park(3, since: .seconds(1))
        #expect(assembler.unpark(room: 8).isEmpty)
        for row in 0...1 { _ = try assembler.rowDidEnd(row, sample("\(row)")) }
        #expect(assembler.unpark(room: 8).isEmpty)
        #expect(try text(assembler.shardDidAssemble(0)) == ["discard 0"])
        #expect(assembler.unpark(room: 0).map(\.number) == [3])
        #expect(assembler.unpark(room: 8).isEmpty && !assembler.wantsRow(4))
    }

    @Test("A shard is assembled when its last row has ended, and its images are discarded when it is finished")
    func wholeShard() throws {
        var assembler = try assembler()
        #expect(try text(assembler.rowDidEnd(1, sample("b"))) == [])
        #expect(try text(assembler.rowDidEnd(2, .failure(class: "dns", message: ""))) == [])
        #expect(try text(assembler.rowDidEnd(0, sample("a"))) == ["assemble 0 0..<2: a b"])
        #expect(try text(assembler.rowDidEnd(0, sample("c"))) == [])
        #expect(assembler.stagedBytes == 20)
        #expect(try text(assembler.shardDidAssemble(0)) == ["discard 0"])
        #expect(assembler.stagedBytes == 0)
        #expect(throws: Assembler.Failure.notAssembling(0)) { try assembler.shardDidAssemble(0) }
        #expect(throws: Assembler.Failure.notAssembling(1)) { try assembler.shardDidAssemble(1) }
        #expect(try text(assembler.inputDidEnd(rowCount: 3)) == ["assemble 1 2..<3: !dns"])
        #expect(!assembler.isFinished)
        #expect(try text(assembler.shardDidAssemble(1)) == ["discard 1"])
        #expect(assembler.isFinished)
    }

    @Test("An input without rows has no shards")
    func emptyInput() throws {
        var assembler = try assembler()
        #expect(!assembler.isFinished)
        #expect(try text(assembler.inputDidEnd(rowCount: 0)) == [])
        #expect(assembler.isFinished && !assembler.admits(0))
    }

    @Test("A shard waits for the originals of its duplicates, and keeps their images while it is assembled")
    func duplicates() throws {
        var assembler = try assembler()
        _ = try assembler.rowDidEnd(1, .duplicate(of: 0))
        _ = try assembler.rowDidEnd(2, .duplicate(of: 1))
        #expect(try text(assembler.rowDidEnd(3, sample("d"))) == [])
        #expect(
            try text(assembler.rowDidEnd(0, sample("a")))
                == ["assemble 0 0..<2: a =0(a)", "assemble 1 2..<4: =0(a) d"])
        #expect(try text(assembler.shardDidAssemble(0)) == [])
        #expect(assembler.stagedBytes == 20)
        #expect(try text(assembler.rowDidEnd(4, .duplicate(of: 0))) == [])
        #expect(try text(assembler.rowDidEnd(5, .duplicate(of: 2))) == ["assemble 2 4..<6: =0 =0"])
        #expect(try text(assembler.shardDidAssemble(1)) == ["discard 0", "discard 1"])
        #expect(try text(assembler.shardDidAssemble(2)) == ["discard 2"])
    }

    @Test("A duplicate of a failed row fails")
    func failedOriginal() throws {
        var assembler = try assembler(size: 1)
        _ = try assembler.rowDidEnd(1, .duplicate(of: 0))
        let actions = try assembler.rowDidEnd(0, .failure(class: "dns", message: ""))
        #expect(text(actions) == ["assemble 0 0..<1: !dns", "assemble 1 1..<2: =0(!dns)"])
    }

    @Test("When staging is full, only rows of the lowest unfinished shard are admitted")
    func fullStaging() throws {
        var assembler = try assembler(limit: 30)
        _ = try assembler.rowDidEnd(2, sample("c", 29))
        #expect(assembler.preferredShard == nil && assembler.admits(3))
        _ = try assembler.rowDidEnd(4, sample("e", 1))
        #expect(assembler.preferredShard == 0 && assembler.fullCount == 1)
        #expect([0, 1, 2, 3, 4, 5].filter(assembler.admits) == [0, 1])
        _ = try assembler.rowDidEnd(0, sample("a"))
        #expect(try text(assembler.rowDidEnd(1, sample("b"))) == ["assemble 0 0..<2: a b"])
        // The shard is preferred until it is finished, or slow assemblies could fill the disk.
        #expect(assembler.preferredShard == 0 && !assembler.admits(3))
        _ = try assembler.shardDidAssemble(0)
        #expect(assembler.preferredShard == 1 && assembler.admits(3) && !assembler.admits(5))
        _ = try assembler.rowDidEnd(3, .failure(class: "dns", message: ""))
        _ = try assembler.shardDidAssemble(1)
        #expect(assembler.preferredShard == nil && assembler.admits(5) && assembler.fullCount == 1)
    }

    @Test("A row in flight counts as staged until it ends or is queued again")
    func reserve() throws {
        var assembler = try assembler(limit: 20, reserve: 10)
        try assembler.rowDidStart(2)
        try assembler.rowDidStart(2)
        #expect(!assembler.isFull)
        try assembler.rowDidStart(3)
        #expect(assembler.isFull)
        try assembler.rowDidRequeue(3)
        #expect(!assembler.isFull && assembler.admits(3))
        _ = try assembler.rowDidEnd(2, sample("c", 3))
        #expect(assembler.startedCount == 0 && assembler.stagedBytes == 3)
    }

    @Test("No more shards than the limit are open, except the lowest one")
    func openShards() throws {
        var assembler = try assembler(open: 2)
        try assembler.rowDidStart(4)
        try assembler.rowDidStart(8)
        #expect(!assembler.admits(2) && assembler.admits(5) && assembler.admits(0))
    }

    @Test("The lowest shard proceeds although rows were reported that were not admitted")
    func reportedBeyondLimit() throws {
        var assembler = try assembler(size: 1, open: 1)
        _ = try assembler.rowDidEnd(0, sample("a"))
        _ = try assembler.shardDidAssemble(0)
        for row in [4, 6, 8] { try assembler.rowDidStart(row) }
        #expect(assembler.openShardCount == 3)
        #expect(assembler.admits(1) && !assembler.admits(2))
    }

    @Test("A resumed run assembles only the shards that are not finished")
    func resumed() throws {
        var assembler = try assembler(finished: [0..<1, 2..<3])
        #expect((0..<8).filter(assembler.admits) == [2, 3, 6, 7])
        #expect(try text(assembler.rowDidEnd(4, sample("x"))) == [])
        _ = try assembler.rowDidEnd(2, sample("c"))
        #expect(try text(assembler.rowDidEnd(3, .duplicate(of: 0))) == ["assemble 1 2..<4: c =0"])
        #expect(throws: Assembler.Failure.rowCountMismatch(4)) { try assembler.inputDidEnd(rowCount: 4) }
        _ = try assembler.inputDidEnd(rowCount: 6)
        _ = try assembler.shardDidAssemble(1)
        #expect(assembler.isFinished)
    }

    @Test("Facts that cannot be true are refused and change nothing")
    func impossibleFacts() throws {
        var assembler = try assembler(limit: .max)
        for row in [-1, .min, .max, ShardLayout.maximumRowCount] {
            #expect(throws: Assembler.Failure.rowOutOfRange(row)) { try assembler.rowDidStart(row) }
            #expect(throws: Assembler.Failure.rowOutOfRange(row)) { try assembler.rowDidEnd(row, sample("a")) }
            #expect(!assembler.admits(row))
        }
        for original in [5, 6, -1, .max] {
            #expect(throws: Assembler.Failure.invalidOriginal(original)) {
                try assembler.rowDidEnd(5, .duplicate(of: original))
            }
        }
        for size in [-1, 8 << 30, Int64.max] {
            #expect(throws: Assembler.Failure.sizeOutOfRange) { try assembler.rowDidEnd(5, sample("a", size)) }
        }
        #expect(assembler.openShardCount == 0 && assembler.stagedBytes == 0)
        try assembler.rowDidStart(5)
        for count in [5, -1, .max] {
            #expect(throws: Assembler.Failure.rowCountMismatch(count)) { try assembler.inputDidEnd(rowCount: count) }
        }
        _ = try assembler.inputDidEnd(rowCount: 6)
        #expect(throws: Assembler.Failure.rowCountMismatch(6)) { try assembler.inputDidEnd(rowCount: 6) }
        #expect(throws: Assembler.Failure.rowOutOfRange(6)) { try assembler.rowDidStart(6) }
    }

    private static func world(_ seed: UInt64, order: UInt64 = 0, kills: Bool = false) -> AssemblyWorld {
        var generator = SeededGenerator(seed: seed)
        let truths = AssemblyWorld.truths(count: generator.below(60), generator: &generator)
        return AssemblyWorld(
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
        var assembler = try assembler(size: 10)
        for row in 0..<20_000 {
            let outcome = row % 3 == 1 ? .duplicate(of: row - 1) : sample("")
            for case .assemble(let shard, _, _) in try assembler.rowDidEnd(row, outcome) {
                _ = try assembler.shardDidAssemble(shard)
            }
            #expect(assembler.openShardCount <= 2)
        }
        #expect(assembler.finishedShards.ranges == [0..<2_000])
    }
}
