import Glibc
import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

@Suite("Disk cache: byte limit", .timeLimit(.minutes(10)))
struct LimitTests {
    private static let limit: Int64 = 8 << 20

    /// Writes far more than the limit and checks the size of the folder after each commit.
    @Test(
        "The folder never exceeds its limit, write-ahead log and shared memory included",
        arguments: [1...2000, 20_000...60_000, 65_537...400_000, 1...300_000])
    func folderSize(sizes: ClosedRange<Int>) async {
        let folder = Folder()
        let log = EventLog()
        let store = folder.store(limit: Self.limit, log: log)
        var random = SeededGenerator(seed: UInt64(sizes.upperBound))
        var (written, number) = (0, 0)
        var kept: [Int64: Int] = [:]
        while written < 3 * Int(Self.limit), number < 1500 {
            number += 1
            let size = Int.random(in: sizes, using: &random)
            let id = await store.keep("http://\(number)", .random(size, seed: UInt64(number)))
            written += size
            #expect(id != nil, "\(number) with \(size) bytes was not kept")
            if let id { kept[id.rawValue] = number }
            let bytes = folder.bytes
            #expect(bytes <= Self.limit, "\(bytes) bytes after \(number)")
        }
        for (id, number) in kept {
            let found = await store.find(StoreKey("http://\(number)"))
            #expect(found.found.isEmpty == log.evicted.contains(id), "\(number): evicted and there, or neither")
            #expect(found.found.isEmpty || found.body != nil)
        }
        #expect(log.quarantined.isEmpty)
        await store.shutdown()
        #expect(folder.bytes <= Self.limit)
    }

    @Test("Space freed by small bodies is reused for large ones, and vice versa") func reusedSpace() async {
        let folder = Folder()
        let store = folder.store(limit: Self.limit)
        for number in 0..<240 { await store.keep("small \(number)", .random(30_000, seed: UInt64(number))) }
        for number in 0..<16 {
            #expect(await store.keep("large \(number)", .random(1_000_000, seed: UInt64(number))) != nil)
            #expect(folder.bytes <= Self.limit)
        }
        #expect(await store.body("large 15") == .random(1_000_000, seed: 15))
        for number in 240..<480 {
            #expect(await store.keep("small \(number)", .random(30_000, seed: UInt64(number))) != nil)
            #expect(folder.bytes <= Self.limit)
        }
        #expect(await store.body("small 479") == .random(30_000, seed: 479))
        await store.shutdown()
    }

    @Test("A limit below 8 MiB is rejected with one report that states the minimum") func minimumLimit() async {
        let folder = Folder()
        let log = EventLog()
        let store = folder.store(limit: DiskStore.Configuration.minimumLimit - 1, log: log)
        for _ in 0..<2 { #expect(await store.keep("a", Bytes("x")) == nil) }
        #expect(log.unavailable.map(\.code) == [.cannotWrite])
        #expect(log.unavailable.first?.message.contains("at least 8388608 bytes (8 MiB)") == true)
        #expect(folder.files.isEmpty)
        await store.shutdown()
    }

    @Test("A body folder is removed with its last file") func emptyBodyFolders() async throws {
        let folder = Folder()
        let store = folder.store(limit: Self.limit)
        for number in 0..<200 { await store.keep("\(number)", .random(100_000, seed: UInt64(number))) }
        #expect(Set(folder.bodyFolders) == Set(folder.bodies.map { String($0.dropFirst(7).prefix(2)) }))
        unsafe mkdir(folder.appending("bodies/zz"), 0o700)
        try await store.clear(.all)
        _ = try await store.statistics()
        #expect(folder.bodyFolders.isEmpty)
        await store.shutdown()
    }

    @Test("A body larger than a quarter of the limit is not stored and evicts nothing") func largestBody() async {
        let folder = Folder()
        let store = folder.store(limit: Self.limit)
        await store.keep("a", Bytes("x"))
        #expect(await store.keep("b", .random(Int(Self.limit / 4) + 1, seed: 1)) == nil)
        #expect(await store.keep("c", .random(Int(Self.limit / 4), seed: 1)) != nil)
        #expect(await store.body("a") == Bytes("x"))
        await store.shutdown()
    }

    @Test("Partial bodies are evicted first, then the least used entries") func evictionOrder() async {
        let folder = Folder()
        let store = folder.store(limit: Self.limit)
        let part = StoredResponse.example("part", bytes: 0..<100_000, total: 300_000)
        _ = await store.keep(part, body: .random(100_000, seed: 1), under: StoreKey("part"))
        await store.keep("used", .random(100_000, seed: 2))
        for _ in 0..<10 { #expect(await store.body("used") != nil) }
        await store.shutdown()
        // Uses are written in batches, and at shutdown.
        let next = folder.store(limit: Self.limit)
        for number in 0..<60 { await next.keep("\(number)", .random(100_000, seed: UInt64(number))) }
        #expect(await next.body("part") == nil)
        for number in 60..<240 { await next.keep("\(number)", .random(100_000, seed: UInt64(number))) }
        #expect(await next.body("used") == .random(100_000, seed: 2))
        #expect(await next.body("0") == nil)
        await next.shutdown()
    }

    @Test("An entry used often in the past is evicted once it is no longer used") func agingUses() async {
        let folder = Folder()
        let store = folder.store(limit: Self.limit)
        await store.keep("used", .random(100_000, seed: 2))
        for _ in 0..<100 { _ = await store.body("used") }
        await store.shutdown()
        let next = folder.store(limit: Self.limit)
        for number in 0..<1200 { await next.keep("\(number)", .random(100_000, seed: 1)) }
        #expect(await next.body("used") == nil)
        await next.shutdown()
    }

    @Test("An entry that is still used stays while others age") func usesAfterTheMost() async {
        let folder = Folder()
        let store = folder.store(limit: Self.limit)
        await store.keep("used", .random(100_000, seed: 2))
        for _ in 0..<100 { _ = await store.body("used") }
        for number in 0..<1200 {
            await store.keep("\(number)", .random(100_000, seed: 1))
            if number.isMultiple(of: 50) { #expect(await store.body("used") != nil) }
        }
        await store.shutdown()
    }

    @Test("Entries past the age limit are removed; setting the date back removes nothing") func ageLimit() async {
        let folder = Folder()
        let clock = VirtualClock()
        let store = folder.store(clock: clock) { $0.ageLimit = .seconds(3600) }
        await store.keep("a", Bytes("x"))
        clock.setDate(secondsSince1970: clock.secondsSince1970() + 3599)
        #expect(await store.body("a") == Bytes("x"))
        clock.setDate(secondsSince1970: clock.secondsSince1970() - 365 * 86400)
        #expect(await store.body("a") == Bytes("x"))
        clock.setDate(secondsSince1970: clock.secondsSince1970() + 365 * 86400 + 2)
        #expect(await store.body("a") == nil)
        await store.shutdown()
        let next = folder.store()
        #expect(await next.find(StoreKey("a")).found.isEmpty)
        await next.shutdown()
    }
}
