import Glibc
import InflightConcurrency
import InflightCore
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightDisk

@Suite("Disk cache: maintenance", .timeLimit(.minutes(10)))
struct MaintenanceTests {
    private static func filled(_ store: DiskStore) async {
        for number in 0..<10 { await store.keep("http://host\(number % 2).org/\(number)", .random(20_000, seed: 1)) }
        await store.keep("https://HOST1.org:8443/large", .random(100_000, seed: 2))
        let part = StoredResponse.example("http://host0.org/part", bytes: 0..<1000, total: 9000)
        _ = await store.keep(part, body: .random(1000, seed: 3), under: StoreKey("http://host0.org/part"))
    }

    @Test("Statistics count entries, bytes and files") func statistics() async throws {
        let folder = Folder()
        let store = folder.store(limit: 10_000_000)
        #expect(try await store.statistics().entries == 0)
        await Self.filled(store)
        let found = try await store.statistics()
        #expect(found.entries == 12)
        #expect(found.partialEntries == 1)
        #expect(found.entriesInFiles == 1)
        #expect(found.bodyBytes == 301_000)
        #expect(found.fileBytes == 100_000)
        #expect(found.limit == 10_000_000)
        #expect(found.pendingFiles == 0)
        #expect(found.indexBytes > 201_000 && found.bytes == folder.bytes)
        await store.shutdown()
    }

    @Test("Statistics count the files of a killed process that cannot be removed, and the others are removed")
    func unremovableFile() async throws {
        let folder = Folder()
        let store = folder.store()
        await store.keep("http://host.org/", .random(1000, seed: 1))
        try Self.leave(files: 1...100, in: folder)
        // A folder with a file cannot be removed as a file.
        let body = CachePaths(folder: folder.path).body(7)
        for length in [20, 17, 0] { unsafe mkdir(String(body.dropLast(length)), 0o700) }
        TemporaryDirectory.write(body + "/file", [])
        #expect(try await store.statistics().pendingFiles == 1)
        await store.shutdown()
    }

    @Test("While the log is full, statistics count what is left of a killed process; then it is removed")
    func fullLog() async throws {
        let folder = Folder()
        let store = folder.store(limit: 10_000_000)
        await store.keep("http://host.org/", .random(1000, seed: 1))
        try Self.leave(files: 1...100, in: folder)
        do {
            // A reader of the log keeps it from being truncated.
            let path = folder.appending("index.sqlite")
            let reader = try Database(path: path, mode: .reading, waitingAtMost: 1000)
            try reader.run("BEGIN; SELECT count(*) FROM entry")
            let writer = try Database(path: path, mode: .writing, waitingAtMost: 1000)
            try writer.run("PRAGMA wal_autocheckpoint = 0")
            for room in 0..<1000 { try writer.change("UPDATE pending SET room = ?", .number(Int64(room))) }
            #expect(try await store.statistics().pendingFiles == 100)
        }
        #expect(try await store.statistics().pendingFiles == 0)
        await store.shutdown()
    }

    /// Records that a process that runs no more was writing these files.
    private static func leave(files: ClosedRange<Int64>, in folder: Folder) throws {
        let index = try Database(path: folder.appending("index.sqlite"), mode: .writing, waitingAtMost: 1000)
        for file in files {
            try index.change("INSERT INTO pending VALUES (?, ?, ?)", .number(file), .number(12345), .number(0))
        }
    }

    @Test("After a crash, statistics count the bytes that are on disk") func statisticsAfterCrash() async throws {
        let folder = Folder()
        let part = Bytes.random(600_000, seed: 1)
        let isKilled = Guarded<Folder?>(nil)
        let store = folder.store {
            $0.fileSystem = FailingFileSystem(beforeWrite: {
                isKilled.withLock { $0 = $0 == nil ? nil : folder.copy() }
            })
        }
        for number in 0..<16 { await store.keep("\(number)", .random(100_000, seed: UInt64(number))) }
        for number in 0..<16 {
            let old = await store.find(StoreKey("\(number)")).found.map(\.id)
            let body = Bytes.random(110_000, seed: UInt64(number))
            _ = await store.keep(
                .example("\(number)", body: body), body: body, under: StoreKey("\(number)"), replacing: old)
        }
        // A replaced file is removed, but its space is still counted.
        let idle = folder.copy()
        let response = StoredResponse.example("part", bytes: 0..<100_000, total: 600_000)
        let id = try #require(await store.keep(response, body: part.part(0..<100_000), under: StoreKey("part")))
        isKilled.withLock { $0 = Folder() }
        #expect(await store.extend(id, by: part.part(100_000..<600_000), at: 100_000))
        await store.shutdown()
        // The space of the partial file is reserved, but its bytes are not yet written.
        let growing = try #require(isKilled.withLock { $0 })
        for (left, bytes) in [(idle, 0), (growing, 100_000)] {
            let next = left.store()
            let found = try await next.statistics()
            #expect(found.fileBytes == 16 * 110_000 + Int64(bytes) && found.pendingFiles == 0)
            #expect(found.bytes == left.bytes)
            #expect(try await next.verify().bodyBytes == found.bodyBytes)
            await next.shutdown()
        }
    }

    @Test("Entries are listed in pages, in the order in which they were stored") func list() async throws {
        let folder = Folder()
        let store = folder.store()
        await Self.filled(store)
        var urls: [String] = []
        var last: StoredEntry.ID?
        while true {
            let page = try await store.list(after: last, count: 5)
            #expect(page.count <= 5)
            if page.isEmpty { break }
            urls += page.map(\.response.url)
            last = page.last?.id
        }
        #expect(urls.count == 12)
        #expect(urls.first == "http://host0.org/0" && urls.last == "http://host0.org/part")
        await store.shutdown()
    }

    @Test(
        "Clearing by URL, host or date, or all, removes the matching entries and no others",
        arguments: [
            (DiskStore.Clearing.all, 12), (.url("http://host0.org/4"), 1), (.host("host1.ORG"), 6),
            (.host("host2.org"), 0),
            (.storedBefore(WallTime(milliseconds: 0)), 0),
            (.storedBefore(WallTime(milliseconds: 4_000_000_000_000)), 12),
            (.stale, 12),
        ])
    func clear(which: DiskStore.Clearing, count: Int) async throws {
        let folder = Folder()
        let store = folder.store()
        await Self.filled(store)
        #expect(try await store.clear(which) == count)
        #expect(try await store.statistics().entries == Int64(12 - count))
        await store.shutdown()
        if count == 12 { #expect(folder.bytes < 100_000, "\(folder.bytes) bytes stay") }
    }

    @Test("Clearing a host skips entries with damaged rows; clearing all removes them")
    func clearDamagedRows() async throws {
        let folder = Folder()
        let first = folder.store()
        await Self.filled(first)
        await first.shutdown()
        do {
            let index = try Database(path: folder.appending("index.sqlite"), mode: .writing, waitingAtMost: 1000)
            try index.run("UPDATE entry SET seal = seal + 1 WHERE length = 100000")
        }
        let store = folder.store()
        #expect(try await store.clear(.host("host1.org")) == 5)
        #expect(try await store.clear(.all) == 7)
        #expect(try await store.statistics().entries == 0)
        #expect(folder.bodies.isEmpty)
        await store.shutdown()
    }

    @Test("Verifying an intact cache finds no damage") func verifyIntact() async throws {
        let folder = Folder()
        let store = folder.store()
        await Self.filled(store)
        let found = try await store.verify()
        #expect(found.entries == 12 && found.bodyBytes == 301_000 && found.damage.isEmpty && found.leftovers == 0)
        await store.shutdown()
    }

    @Test("Verifying reports damage and changes nothing; leftover files do not count as damage")
    func verifyDamaged() async throws {
        let folder = Folder()
        let store = folder.store()
        await Self.filled(store)
        var bytes = folder.read(folder.bodies[0])
        bytes[77] ^= 1
        folder.write(folder.bodies[0], bytes)
        let leftover = String(folder.bodies[0].dropLast()) + (folder.bodies[0].hasSuffix("0") ? "1" : "0")
        folder.write(leftover, [1, 2, 3])
        for _ in 0..<2 {
            let found = try await store.verify()
            #expect(found.entries == 12 && found.leftovers == 1)
            #expect(found.damage.map(\.url) == ["https://HOST1.org:8443/large"])
            #expect(found.damage.first?.reason.contains("does not match its checksum") == true)
        }
        await store.shutdown()
    }

    @Test("Verifying reports once that the index was discarded") func verifyDiscarded() async throws {
        let folder = Folder()
        let first = folder.store()
        await Self.filled(first)
        await first.shutdown()
        folder.write("index.sqlite", Bytes.random(20_000, seed: 5).array)
        let store = folder.store()
        #expect(try await store.verify().damage.first?.reason.contains("discarded") == true)
        #expect(try await store.verify().damage.isEmpty, "it is told once")
        await store.shutdown()
    }

    @Test("Maintenance of a folder that is not a cache throws and leaves it unchanged") func unrelatedFolder() async {
        let folder = Folder()
        folder.write("letter.txt", [1])
        let store = folder.store()
        let statistics = await #expect(throws: LoadError.self) { try await store.statistics() }
        let verify = await #expect(throws: LoadError.self) { try await store.verify() }
        let clear = await #expect(throws: LoadError.self) { try await store.clear(.all) }
        for error in [statistics, verify, clear] {
            #expect(error?.code == .cannotWrite && error?.message.hasPrefix("The folder \(folder.path) ") == true)
        }
        await store.shutdown()
        await #expect(throws: LoadError.self) { try await store.list() }
        #expect(folder.files == ["letter.txt": 1])
    }
}
