import InflightTestSupport
import Testing

@testable import InflightBatch

/// A run over rows whose outcomes are known before, with a random order of events. It checks each action of the
/// book against a plain model: the journal, the staged files and the finished shards.
struct ShardBookWorld {
    enum Truth: Equatable {
        case success(size: Int)
        case failure
        case duplicate(of: Int)
    }

    let truths: [Truth]
    let layout: ShardLayout
    let configuration: ShardBook.Configuration
    var generator: SeededGenerator
    let kills: Bool

    var book: ShardBook
    /// What survives a kill.
    var journal: [Int: RowOutcome<Int64>] = [:]
    var staged: [Int: Int64] = [:]
    var finished: Set<Int> = []
    var discarded: Set<Int> = []
    var output: [Int: [UInt8]] = [:]
    /// What does not.
    var cursor = 0
    var pending: [Int] = []
    var inFlight: [Int] = []
    var assembling: [Int: Set<Int>] = [:]
    var inputEnded = false

    var killCount = 0

    init(truths: [Truth], shardSize: Int, limit: Int64, openShardLimit: Int, reserve: Int64, seed: UInt64, kills: Bool)
    {
        self.truths = truths
        layout = ShardLayout(shardSize: shardSize)!
        var configuration = ShardBook.Configuration(
            layout: layout, stagingLimit: limit, openShardLimit: openShardLimit, bytesPerRowInFlight: reserve)
        if seed % 3 > 0 { configuration.maximumAssemblies = Int(seed % 3) }
        if seed % 2 > 0 { configuration.nearShards = Int(seed % 5) }
        self.configuration = configuration
        generator = SeededGenerator(seed: seed)
        self.kills = kills
        book = ShardBook(configuration)
    }

    static func truths(count: Int, generator: inout SeededGenerator) -> [Truth] {
        (0..<count).map { row in
            switch generator.below(10) {
            case 0..<5: .success(size: generator.below(20))
            case 5..<8 where row > 0: .duplicate(of: generator.below(row))
            default: .failure
            }
        }
    }

    var shardCount: Int { (truths.count + configuration.layout.shardSize - 1) / configuration.layout.shardSize }
    var lowestUnfinished: Int { (0...).first { !finished.contains($0) } ?? 0 }

    /// Runs to the end. Records an issue if no event is possible before.
    mutating func run() throws {
        while !book.isFinished {
            guard try step() else {
                Issue.record("deadlock")
                return
            }
            try checkState()
        }
        #expect(finished == Set(0..<shardCount))
        #expect(staged.isEmpty && book.stagedBytes == 0 && book.openShardCount == 0)
        #expect(journal.count == truths.count)
        #expect(book.preferredShard == nil)
    }

    private func checkState() throws {
        #expect(book.stagedBytes == loadedBytes)
        #expect(book.startedCount == inFlight.count)
        #expect(book.openShardCount <= configuration.openShardLimit + 1)
        let reserve = Int64(inFlight.count) * configuration.bytesPerRowInFlight
        let isFull = loadedBytes + reserve >= configuration.stagingLimit
        #expect(book.isFull == isFull)
        #expect(book.preferredShard == (isFull && !book.isFinished ? lowestUnfinished : nil))
    }

    /// The size of the staged files that this process knows: after a kill, those whose row was read again.
    private var loadedBytes: Int64 {
        staged.reduce(0) { $0 + (loaded.contains($1.key) ? $1.value : 0) }
    }

    private var loaded: Set<Int> = []

    private mutating func step() throws -> Bool {
        var events: [(inout ShardBookWorld) throws -> Void] = []
        if cursor < truths.count {
            events.append { world in
                world.pending.append(world.cursor)
                world.cursor += 1
            }
        } else if !inputEnded {
            events.append { world in
                world.inputEnded = true
                try world.run(world.book.inputDidEnd(rowCount: world.truths.count))
            }
        }
        let admitted = pending.filter { book.admits($0) }
        if let row = admitted.randomElement(using: &generator) { events.append { try $0.begin(row) } }
        if let row = inFlight.randomElement(using: &generator) {
            for _ in 0..<3 { events.append { try $0.end(row) } }
        }
        if let shard = assembling.keys.sorted().randomElement(using: &generator) {
            events.append { try $0.finish(shard) }
        }
        guard let event = events.randomElement(using: &generator) else { return false }
        try event(&self)
        if kills, generator.below(40) == 0, killCount < 5, !book.isFinished { kill() }
        return true
    }

    /// Starts a row, or reports it at once if its outcome needs no fetch.
    private mutating func begin(_ row: Int) throws {
        let isLowest = layout.position(of: row).shard == lowestUnfinished
        #expect(isLowest || !book.isFull)
        pending.removeAll { $0 == row }
        if let outcome = journal[row] {
            loaded.insert(row)
            try run(book.rowDidEnd(row, outcome))
        } else if case .duplicate = truths[row] {
            try end(row)
        } else {
            inFlight.append(row)
            try book.rowDidStart(row)
        }
    }

    private mutating func end(_ row: Int) throws {
        inFlight.removeAll { $0 == row }
        let outcome: RowOutcome<Int64>
        switch truths[row] {
        case .success(let size):
            staged[row] = Int64(size)
            outcome = .success(Int64(size))
        case .failure: outcome = .failure(class: "http", message: "row \(row)")
        case .duplicate(let original): outcome = .duplicate(of: original)
        }
        #expect(journal.updateValue(outcome, forKey: row) == nil)
        loaded.insert(row)
        try run(book.rowDidEnd(row, outcome))
        guard generator.below(10) == 0 else { return }
        #expect(try book.rowDidEnd(row, .success(100)).isEmpty, "a second end changed the row")
    }

    private mutating func finish(_ shard: Int) throws {
        assembling[shard] = nil
        finished.insert(shard)
        try run(book.shardDidAssemble(shard))
    }

    /// Starts a new process on the journal. It removes the staged files of finished shards.
    private mutating func kill() {
        killCount += 1
        (cursor, pending, inFlight, assembling, inputEnded, loaded) = (0, [], [], [:], false, [])
        staged = staged.filter { !finished.contains(layout.position(of: $0.key).shard) }
        book = ShardBook(configuration, finishedShards: ShardSet(finished.map { $0..<($0 + 1) }))
    }

    private mutating func run(_ actions: [ShardBook.Action]) throws {
        for action in actions {
            switch action {
            case .discard(let shard):
                #expect(finished.contains(shard) && discarded.insert(shard).inserted)
                for row in layout.rows(of: shard) where staged.removeValue(forKey: row) != nil {
                    #expect(!assembling.values.contains { $0.contains(row) }, "discarded while an assembly reads it")
                }
            case .assemble(let shard, let rows, let parts):
                #expect(!finished.contains(shard) && assembling[shard] == nil, "assembled twice")
                let first = shard * layout.shardSize
                #expect(rows == first..<min(first + layout.shardSize, truths.count))
                #expect(parts.count == rows.count)
                var archive = ShardOutput()
                var images: Set<Int> = []
                for (row, part) in zip(rows, parts) {
                    archive.add(row, try check(row, part, &images), in: self)
                }
                assembling[shard] = images
                #expect(assembling.count <= configuration.maximumAssemblies)
                let bytes = archive.end()
                #expect(output.updateValue(bytes, forKey: shard) ?? bytes == bytes)
            }
        }
    }

    /// Compares what the row adds with the journal. Returns the row whose body the row has, if any.
    private func check(_ row: Int, _ part: ShardBook.Part, _ images: inout Set<Int>) throws -> Int? {
        var original = row
        while case .duplicate(let next) = truths[original] { original = next }
        let hasFailed = truths[original] == .failure
        switch part {
        case .image(let named):
            #expect(named == original && staged[named] != nil)
            guard case .success? = journal[named] else {
                Issue.record("row \(named) has no body")
                return nil
            }
            images.insert(named)
        case .failure(let named): #expect(hasFailed && named == original)
        case .finished(let named):
            // The chain is known as far as its rows are in shards that are not finished.
            var place = row
            while case .duplicate(let next) = truths[place], place == row || place != named { place = next }
            #expect(place == named && named != row && finished.contains(layout.position(of: named).shard))
        }
        return hasFailed ? nil : original
    }
}

/// The archive of a shard, followed by its sidecar.
private struct ShardOutput {
    private var archive = TarArchive()
    private var bytes: [UInt8] = []
    private var sidecar: [UInt8] = []
    private var keys: Set<String> = []

    mutating func add(_ row: Int, _ original: Int?, in world: ShardBookWorld) {
        let schema = SidecarSchema(ownColumns: ["id"])
        let id = SampleKey.key(id: Array("id.\(row % 3)".utf8), digest: ShardLayoutTests.digest)
        let key = keys.insert(id).inserted ? id : SampleKey.repeated(id, row: row)
        var line = SidecarRow(url: "http://\(row)/", key: key, status: original == nil ? .failedToDownload : .success)
        line.ownValues = [Array("\(row)".utf8)]
        sidecar += line.line(schema)
        guard let original, case .success(let size) = world.truths[original] else { return }
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: original), count: size)
        do {
            bytes += try archive.member(key + ".jpg", body: body)
            bytes += try archive.member(key + ".json", body: line.json(schema))
        } catch {
            Issue.record(error)
        }
    }

    mutating func end() -> [UInt8] {
        bytes + archive.end() + sidecar
    }
}
