import Glibc
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Journal errors", .timeLimit(.minutes(10)))
struct JournalErrorTests {
    @Test("A second run in the folder fails at once, and can start when the first has ended")
    func locked() throws {
        let run = RunFolder()
        do {
            let journal = try run.open()
            #expect(run.openError() == .locked(run.path))
            try journal.record(success(0))
            try journal.commit()
        }
        #expect(try run.open().rows(of: 0).count == 1)
    }

    @Test("A folder with other files is refused and not changed")
    func foreignFolder() throws {
        let run = try RunFolder().killed()
        run.write("notes.txt", [1])
        #expect(run.openError() == .foreignFolder(run.path))
        #expect(run.names == ["notes.txt"])
    }

    @Test("A journal of another program is refused and not changed")
    func foreignFile() throws {
        let run = try RunFolder().killed()
        do {
            let other = try Database(path: run.path + "/journal.sqlite", mode: .making, waitingAtMost: 0)
            try other.run("CREATE TABLE notes (text TEXT)")
        }
        let bytes = run.read("journal.sqlite")
        #expect(run.openError() == .foreignFile(run.path))
        #expect(run.names == ["journal.sqlite"] && run.read("journal.sqlite") == bytes)
    }

    @Test("A path that is a file, or below a file, is refused")
    func file() {
        var run = RunFolder()
        run.directory.write("run", "text")
        #expect(run.openError() == .notAFolder(run.path))
        run = RunFolder()
        #expect(throws: BatchFailure.journal(.notAFolder("/dev/null/x"))) {
            _ = try Journal(folder: "/dev/null/x", options: [:], layout: run.layout)
        }
    }

    @Test("The status of a folder without a journal is an error, and creates nothing")
    func missing() throws {
        let run = RunFolder()
        #expect(throws: BatchFailure.journal(.missing(run.path))) { _ = try Journal(reading: run.path) }
        #expect(run.directory.names.isEmpty)
        let other = try run.killed()
        other.write("notes.txt", [1])
        #expect(throws: BatchFailure.journal(.missing(other.path))) { _ = try Journal(reading: other.path) }
    }

    @Test("A newer journal is refused and not changed")
    func newer() throws {
        let run = RunFolder()
        try run.open().database.run("PRAGMA journal_mode = DELETE; PRAGMA user_version = 3")
        let bytes = run.read("journal.sqlite")
        #expect(run.openError() == .newer(run.path, version: 3, supported: 2))
        #expect(run.read("journal.sqlite") == bytes)
    }

    @Test("Changed options are named with their old and new values")
    func changedOptions() throws {
        let run = RunFolder()
        _ = try run.open(["format": "jpeg", "size": "256", "keys": "id"])
        let error = try #require(run.openError(["format": "webp", "size": "256", "dedupe": "content"]))
        #expect(
            error
                == .changedOptions(
                    run.path,
                    [
                        .init(name: "dedupe", old: nil, new: "content"),
                        .init(name: "format", old: "jpeg", new: "webp"),
                        .init(name: "keys", old: "id", new: nil),
                    ]))
        #expect(
            error.description == """
                The options differ from those of the run in \(run.path): dedupe was not set, is 'content'; \
                format was 'jpeg', is 'webp'; keys was 'id', is not set. Use the same options to resume, or specify \
                another folder.
                """)
        var other = run
        other.layout = ShardLayout(shardSize: 5)!
        let size = other.openError(["format": "jpeg", "size": "256", "keys": "id"])
        #expect(size == .changedOptions(run.path, [.init(name: "shard-size", old: "4", new: "5")]))
        _ = try run.open(["format": "jpeg", "size": "256", "keys": "id"])
    }

    @Test("Damaged bytes are reported, or change nothing")
    func damaged() throws {
        let run = RunFolder()
        do {
            let journal = try run.open()
            for row in 0..<400 { try journal.record(failed(row, host: "host-\(row).test")) }
            for shard in 0..<50 { try journal.finish(shard, rows: (4 * shard)..<(4 * shard + 4)) }
        }
        let bytes = try #require(run.read("journal.sqlite"))
        #expect(bytes.count > 12 * 4096)
        func damage(_ change: (inout [UInt8]) -> Void) throws -> JournalError? {
            let copy = try RunFolder().killed()
            var changed = bytes
            change(&changed)
            copy.write("journal.sqlite", changed)
            return copy.openError()
        }
        #expect(try damage { _ in } == nil)
        for change: (inout [UInt8]) -> Void in [
            { $0 = [] }, { $0[3] ^= 1 }, { $0 = Array("text\n".utf8) }, { $0.removeLast($0.count / 2) },
            { bytes in for page in stride(from: 4096, to: bytes.count, by: 4096) { bytes[page] ^= 0x55 } },
            { bytes in for index in 4096..<bytes.count { bytes[index] = 0 } },
        ] {
            let error = try damage(change)
            guard case .damaged = error else {
                Issue.record("\(error.map(\.description) ?? "no error")")
                continue
            }
        }
        // One changed byte anywhere is an error of the journal at most.
        var random = SeededGenerator(seed: 7)
        for _ in 0..<100 {
            let copy = try RunFolder().killed()
            var changed = bytes
            changed[random.below(changed.count)] ^= UInt8(random.below(255) + 1)
            copy.write("journal.sqlite", changed)
            do {
                let journal = try copy.open()
                for shard in 0..<100 { _ = (try journal.rows(of: shard), try journal.finishedShard(shard)) }
                _ = (try journal.failures(), try journal.summary())
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }

    @Test("A class, a shard and a block with invalid contents are damage")
    func invalidContents() throws {
        for statement in [
            "UPDATE row SET class = 9", "UPDATE shard SET classes = x'0000'", "UPDATE shard SET classes = x'09'",
            "UPDATE shard SET first = 4", "UPDATE block SET digests = x'000000'", "UPDATE row SET original = NULL",
        ] {
            let run = RunFolder()
            let journal = try run.open()
            try journal.record(1, ofInput: 0)
            try journal.record([success(0), duplicate(4, of: 0)])
            try journal.finish(0, rows: 0..<1)
            try journal.database.run(statement)
            let reader = try Journal(reading: run.path)
            #expect(
                throws: BatchFailure.journal(.damaged(run.path, reason: "a row has invalid contents")), "\(statement)"
            ) {
                _ = (try reader.rows(of: 1), try reader.finishedShard(0), try reader.recordedCount(ofInput: 0))
            }
        }
    }

    @Test("On a full disk the recorded rows remain, and the run resumes when there is space")
    func full() throws {
        let run = RunFolder()
        var count = 0
        do {
            let journal = try run.open()
            let pages = try journal.database.number("PRAGMA page_count") ?? 0
            try journal.database.run("PRAGMA max_page_count = \(pages + 4)")
            #expect(throws: BatchFailure.journal(.full(run.path))) {
                while count < 10_000 {
                    try journal.record(failed(count, host: String(repeating: "h", count: 200)))
                    try journal.commit()
                    count += 1
                }
            }
            #expect(throws: BatchFailure.journal(.full(run.path))) { try journal.commit() }
            #expect(throws: BatchFailure.journal(.full(run.path))) { try journal.record(success(0)) }
            #expect(throws: BatchFailure.journal(.full(run.path))) { try journal.finish(0, rows: 0..<4) }
        }
        #expect(count > 10)
        let journal = try run.open()
        #expect(try journal.summary().failures == count)
        try journal.finish(0, rows: 0..<4)
    }

    @Test("A read-only folder is an error with the system's reason", .enabled(if: geteuid() != 0))
    func readOnly() throws {
        let run = try RunFolder().killed()
        unsafe chmod(run.path, 0o500)
        defer { unsafe chmod(run.path, 0o700) }
        #expect(run.openError() == .readOnly(run.path, reason: "Permission denied"))
    }

    @Test("Each description names the folder and says what to do")
    func descriptions() {
        let errors: [JournalError] = [
            .notAFolder("/out"), .missing("/out"), .foreignFolder("/out"), .foreignFile("/out"), .locked("/out"),
            .newer("/out", version: 2, supported: 1), .damaged("/out", reason: "x"), .full("/out"),
            .readOnly("/out", reason: "x"),
        ]
        for error in errors {
            let text = error.description
            #expect(text.contains("/out") && text.hasSuffix("."))
            #expect(
                ["Specify", "specify", "Wait", "another folder", "again"].contains { text.contains($0) }, "\(text)")
        }
    }
}
