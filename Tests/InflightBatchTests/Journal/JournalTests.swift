import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Journal", .timeLimit(.minutes(10)))
struct JournalTests {
    @Test("Rows of open shards are read again as they were recorded")
    func rows() throws {
        let run = RunFolder()
        var image = ImageRecord()
        (image.width, image.height, image.originalWidth, image.originalHeight) = (1, 2, 30, 40)
        image.exif = "{\"Make\": \"\0é\"}"
        image.sha256 = ContentDigest((0..<32).map { UInt8($0 * 8 + 3) })
        do {
            let journal = try run.open()
            try journal.record([
                success(5, host: "b.test", size: 1 << 40, offset: 1 << 41, image), success(0), failed(1),
                duplicate(2, of: 0),
            ])
            try journal.record(failed(0, "timeout"))
            try journal.commit()
        }
        let journal = try run.open()
        #expect(
            try journal.rows(of: 0).map(\.text) == [
                "0 a.test timeout: No address for a.test.", "1 a.test dns: No address for a.test.", "2 a.test = 0",
            ])
        let row = try #require(try journal.rows(of: 1).first)
        #expect(row.text == "5 b.test success 1099511627776")
        guard case .success(let staged) = row.outcome else { return }
        #expect(staged == StagedImage(offset: 1 << 41, size: 1 << 40, sum: .max - 5, record: image))
        #expect(try journal.rows(of: 2).isEmpty)
    }

    @Test("A finished shard keeps one class per row, and its rows' records are removed")
    func finishedShard() throws {
        let run = RunFolder()
        do {
            let journal = try run.open()
            try journal.record([success(0), failed(1), failed(2, "http-404"), duplicate(3, of: 0), failed(4)])
            try journal.finish(0, rows: 0..<4)
            #expect(journal.finishedShards.ranges == [0..<1])
            try journal.record(duplicate(5, of: 1))
            try journal.record(duplicate(6, of: 5))
            try journal.finish(1, rows: 4..<7)
        }
        let journal = try run.open()
        #expect(journal.finishedShards.ranges == [0..<2])
        #expect(try journal.rows(of: 0).isEmpty && journal.rows(of: 1).isEmpty)
        let classes: [OutcomeClass] = [.success, .failure("dns"), .failure("http-404"), .duplicate]
        #expect(try journal.finishedShard(0) == FinishedShard(rows: 0..<4, classes: classes))
        // A duplicate of a failed row has failed like it.
        #expect(try journal.finishedShard(1)?.classes == Array(repeating: .failure("dns"), count: 3))
        #expect(try journal.finishedShard(2) == nil)
        #expect(try (0..<4).map { try journal.finishedRow($0)?.outcomeClass } == classes)
        #expect(try journal.finishedRow(8) == nil)
    }

    @Test("A shard with a row that has not ended is not recorded")
    func incompleteShard() throws {
        let run = RunFolder()
        let journal = try run.open()
        try journal.record([success(0), success(2), success(3)])
        #expect(throws: BatchFailure.journal(.incomplete(run.path, shard: 0, row: 1))) {
            try journal.finish(0, rows: 0..<4)
        }
        #expect(try journal.rows(of: 0).count == 3 && journal.finishedShards.ranges.isEmpty)
        try journal.record(success(1))
        try journal.finish(0, rows: 0..<4)
    }

    @Test("A retry replaces only the rows that it fetched, and the counts follow")
    func retry() throws {
        let run = RunFolder()
        let journal = try run.open()
        try journal.record([failed(0), failed(1), failed(2, "http-503", host: "b.test"), success(3)])
        try journal.finish(0, rows: 0..<4)
        #expect(try journal.finishedShards(withFailures: ["dns"]) == [0])
        #expect(try journal.finishedShards(withFailures: ["http-404"]) == [])
        try journal.record([success(0), failed(2, "dns", host: "b.test")])
        #expect(try journal.failuresByClass() == ["dns": 2, "http-503": 1])
        #expect(try journal.summary() == JournalSummary(successes: 1, failures: 3, finishedShards: 1))
        try journal.finish(0, rows: 0..<4)
        #expect(
            try journal.finishedShard(0)?.classes == [.success, .failure("dns"), .failure("dns"), .success])
        #expect(try journal.failuresByClass() == ["dns": 2])
        #expect(
            try journal.failures() == [
                FailureCount(failureClass: "dns", host: "a.test", count: 1),
                FailureCount(failureClass: "dns", host: "b.test", count: 1),
            ])
    }

    @Test("The last shard of an input that has grown keeps its rows and takes new ones")
    func grownShard() throws {
        let run = RunFolder()
        let journal = try run.open()
        try journal.record([success(0), failed(1)])
        try journal.finish(0, rows: 0..<2)
        try journal.record([failed(2), success(3)])
        try journal.finish(0, rows: 0..<4)
        #expect(
            try journal.finishedShard(0)?.classes == [.success, .failure("dns"), .failure("dns"), .success])
        #expect(try journal.failures().map(\.count) == [2])
    }

    @Test("Failures are counted by class and host, over open and finished shards, also while the run writes")
    func status() throws {
        let run = RunFolder()
        let journal = try run.open()
        try journal.record((0..<4).map { failed($0, $0 < 3 ? "dns" : "timeout", host: $0 < 2 ? "a.test" : "b.test") })
        try journal.finish(0, rows: 0..<4)
        try journal.record([failed(4), success(5), duplicate(6, of: 5)])
        try journal.commit()
        try journal.record(failed(7))
        let reader = try Journal(reading: run.path)
        #expect(
            try reader.failures().map { "\($0.failureClass) \($0.host) \($0.count)" } == [
                "dns a.test 3", "dns b.test 1", "timeout b.test 1",
            ])
        #expect(try reader.failures(limit: 1).count == 1)
        #expect(try reader.failuresByClass() == ["dns": 4, "timeout": 1])
        #expect(
            try reader.summary()
                == JournalSummary(successes: 1, duplicates: 1, failures: 5, finishedShards: 1, openRows: 3))
        #expect(reader.options == ["format": "jpeg", "shard-size": "4", "error-class": "yes"])
    }

    @Test("Of more classes than a byte can represent, the last share one")
    func manyClasses() throws {
        let run = RunFolder()
        do {
            let journal = try run.open()
            try journal.record((0..<400).map { failed($0, "class-\($0)") })
            try journal.commit()
        }
        let journal = try run.open()
        let counts = try journal.failuresByClass()
        #expect(counts.count == 253 && counts["other"] == 148 && counts["class-251"] == 1)
    }

    @Test("Inputs and the digests of their rows are read again", arguments: [0, 1, 4095, 4096, 4097, 10_000])
    func digests(count: Int) throws {
        let run = RunFolder()
        let digests = (0..<UInt32(count)).map { $0 &* 2_654_435_761 }
        do {
            let journal = try run.open()
            try journal.record(JournalInput(name: "a.csv", identity: "1:2", rowCount: 3), number: 0)
            try journal.record(JournalInput(name: "-"), number: 1)
            // Interrupted at several places, as blocks are.
            for (index, digest) in digests.enumerated() {
                try journal.record(digest, ofInput: 1)
                if index % 1500 == 7 { try journal.commit() }
            }
            try journal.record(7, ofInput: 0)
            try journal.commit()
        }
        var journal = try run.open()
        #expect(
            try journal.inputs() == [
                JournalInput(name: "a.csv", identity: "1:2", rowCount: 3), JournalInput(name: "-"),
            ])
        for _ in 0..<2 {
            #expect(try journal.recordedCount(ofInput: 1) == count)
            #expect(try journal.recordedCount(ofInput: 0) == 1 && journal.recordedCount(ofInput: 2) == 0)
            let blocks = try (0...3).flatMap { try journal.digests(ofInput: 1, block: $0) }
            #expect(blocks == digests)
            journal = try Journal(reading: run.path)
        }
    }

    @Test("The first row in the input stores a body")
    func content() throws {
        let run = RunFolder()
        let journal = try run.open()
        let digest = try #require(ContentDigest((0..<32).map { UInt8($0) }))
        #expect(try journal.row(withContent: digest) == nil)
        for row in [9, 4, 6] { try journal.record(digest, storedInRow: row) }
        #expect(try journal.row(withContent: digest) == 4)
    }

    @Test("A kill at any commit loses no committed row and no finished shard")
    func kill() throws {
        let run = RunFolder()
        let journal = try run.open()
        var random = SeededGenerator(seed: 18)
        var (committed, finished) = (Set<Int>(), 0)
        for shard in 0..<40 {
            for row in (4 * shard)..<(4 * shard + 4) {
                try journal.record(UInt32(row), ofInput: 0)
                try journal.record(row % 3 == 0 ? failed(row) : success(row))
                if random.below(2) == 0 {
                    try journal.commit()
                    committed = Set((4 * finished)...row)
                }
                guard random.below(4) == 0 else { continue }
                let copy = try run.killed().open()
                let rows = try (finished...shard).flatMap { try copy.rows(of: $0).map(\.number) }
                #expect(Set(rows) == committed && rows.count == committed.count)
                #expect(copy.finishedShards.end == finished)
                #expect(try copy.recordedCount(ofInput: 0) >= 4 * finished + committed.count)
            }
            try journal.finish(shard, rows: (4 * shard)..<(4 * shard + 4))
            (committed, finished) = ([], shard + 1)
        }
        let copy = try run.killed().open()
        #expect(copy.finishedShards.ranges == [0..<40])
        #expect(try copy.recordedCount(ofInput: 0) == 160 && copy.summary().failures == 54)
    }

    @Test("Many rows without a commit are committed by themselves")
    func batches() throws {
        let run = RunFolder()
        let journal = try run.open()
        try journal.record((0..<1000).map { success($0) })
        #expect(try run.killed().open().summary().successes == 1000)
    }

    @Test("A start that was killed before the journal had its name is repeated")
    func killedStart() throws {
        let run = RunFolder()
        _ = try run.open()
        let journal = try #require(run.read("journal.sqlite"))
        let copy = try RunFolder().killed()
        copy.write("journal.new", Array(journal.prefix(5000)))
        copy.write("journal.new-journal", [1, 2, 3])
        copy.write("journal.lock", [])
        #expect(try copy.open().summary() == JournalSummary())
        #expect(copy.names.contains("journal.sqlite") && !copy.names.contains { $0.hasPrefix("journal.new") })
    }
}
