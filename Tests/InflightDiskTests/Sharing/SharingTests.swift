import Glibc
import InflightConcurrency
import InflightCore
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightDisk

/// Several stores on one folder: SQLite's locks and ours treat them like separate processes.
@Suite("Disk cache: shared folder", .timeLimit(.minutes(10)))
struct SharingTests {
    @Test("An entry added or removed by one store is seen by all stores of the folder") func visibility() async {
        let folder = Folder()
        let stores = (0..<3).map { _ in folder.store() }
        for (index, store) in stores.enumerated() {
            await store.keep("http://\(index)", .random(80_000, seed: UInt64(index)))
            for other in stores { #expect(await other.body("http://\(index)") == .random(80_000, seed: UInt64(index))) }
        }
        await stores[0].removeAll(under: StoreKey("http://1"))
        for store in stores { #expect(await store.body("http://1") == nil) }
        for store in stores { await store.shutdown() }
    }

    @Test("A response replaces the entries that the caller chooses inside the transaction, or is not stored")
    func chosenInside() async {
        let folder = Folder()
        let stores = [folder.store(), folder.store()]
        let key = StoreKey("http://a")
        for size in [10, 100_000] {
            let old = await stores[0].keep("http://a", .random(size, seed: 1))
            let body = Bytes.random(size, seed: 2)
            @Sendable func keep(_ choose: @escaping @Sendable ([StoredEntry]) -> [StoredEntry.ID]?) async -> Int64? {
                let bridge = ValueBridge<StoredEntry.ID?>()
                stores[1].keep(
                    .example("http://a", body: body), body: body, under: key, replacing: [], andAmong: choose
                ) { bridge.open(with: $0) }
                return await bridge.value()?.rawValue
            }
            #expect(await keep { _ in nil } == nil)
            #expect(await stores[0].find(key).found.map(\.id) == [old].compactMap(\.self))
            let new = await keep { found in found.map(\.id) }
            #expect(await stores[0].find(key).found.map(\.id.rawValue) == [new].compactMap(\.self))
            await stores[0].removeAll(under: key)
        }
        for store in stores { await store.shutdown() }
        // Bodies that were not stored leave no file behind.
        #expect(folder.bodies == [])
    }

    @Test("Stores that create a folder at the same time all use it") func concurrentCreation() async {
        for _ in 0..<50 {
            let folder = Folder()
            let log = EventLog()
            let stores = (0..<4).map { _ in folder.store(log: log) }
            await withTaskGroup(of: Void.self) { group in
                for (index, store) in stores.enumerated() {
                    group.addTask { #expect(await store.keep("http://\(index)", Bytes("x")) != nil) }
                }
            }
            #expect(log.events.isEmpty, "\(log.events)")
            for index in stores.indices { #expect(await stores[0].body("http://\(index)") == Bytes("x")) }
            for store in stores { await store.shutdown() }
        }
    }

    @Test("A path is resolved while its last folder is created and removed") func resolving() async throws {
        let folder = Folder()
        let (path, files) = (folder.path, SystemFileSystem())
        let expected = try files.resolved(folder.parent) + "/cache"
        async let changes: Void = withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<20_000 {
                    unsafe mkdir(path, 0o700)
                    unsafe rmdir(path)
                }
            }
        }
        for _ in 0..<10_000 { #expect(try files.resolved(path) == expected) }
        await changes
    }

    @Test("A cache that another store creates after the search for its tag is not taken for another program's files")
    func createdMeanwhile() async {
        let (other, folder) = (Folder(), Folder())
        let first = other.store()
        await first.keep("http://first", Bytes("first"))
        await first.shutdown()
        // As when it has just written the tag, and is creating the index.
        other.remove("index.sqlite")
        other.write("index.new", [])
        let (from, to) = (other.path, folder.path)
        let files = FailingFileSystem(beforeListing: { unsafe rename(from, to) })
        let log = EventLog()
        let store = folder.store(log: log) { $0.fileSystem = files }
        #expect(await store.keep("http://second", Bytes("second")) != nil)
        #expect(log.events.isEmpty, "\(log.events)")
        await store.shutdown()
    }

    @Test("Concurrent stores lose no acknowledged entry and keep to the limit together")
    func concurrentWriters() async {
        let folder = Folder()
        let limit: Int64 = 8 << 20
        let log = EventLog()
        let stores = (0..<4).map { _ in folder.store(limit: limit, log: log) }
        let kept = Guarded<[Int64: String]>([:])
        await withTaskGroup(of: Void.self) { group in
            for (index, store) in stores.enumerated() {
                group.addTask {
                    for number in 0..<120 {
                        let url = "http://\(index)/\(number)"
                        let body = Bytes.random(number % 4 == 0 ? 90_000 : 10_000, seed: UInt64(index * 1000 + number))
                        let id = await store.keep(url, body)
                        #expect(id != nil, "\(url) was not kept")
                        if let id { kept.withLock { $0[id.rawValue] = url } }
                        let found = await store.body(url)
                        #expect(found == body || id.map { log.evicted.contains($0.rawValue) } == true)
                        #expect(folder.settledBytes ?? 0 <= limit)
                    }
                }
            }
        }
        #expect(log.unavailable.isEmpty, "\(log.unavailable)")
        #expect(folder.bytes <= limit)
        for (id, url) in kept.withLock({ $0 }) {
            let isThere = await !stores[0].find(StoreKey(url)).found.isEmpty
            #expect(isThere != log.evicted.contains(id), "\(url)")
        }
        let statistics = try? await stores[1].statistics()
        let found = try? await stores[2].verify()
        #expect(found?.damage.isEmpty == true)
        #expect(statistics.map { Int($0.entries) } == found?.entries)
        for store in stores { await store.shutdown() }
    }

    @Test("Beside a long reader, eight writers keep to the limit and skip entries until it ends")
    func longReader() async throws {
        let folder = Folder()
        let limit: Int64 = 8 << 20
        let log = EventLog()
        let stores = (0..<8).map { _ in folder.store(limit: limit, log: log) }
        for (index, store) in stores.enumerated() { #expect(await store.keep("first \(index)", Bytes("x")) != nil) }
        let reader = try Database(path: folder.appending("index.sqlite"), mode: .reading, waitingAtMost: 0)
        try reader.run("BEGIN")
        #expect(try reader.number("SELECT count(*) FROM entry") == 8)
        let skipped = Guarded(0)
        await withTaskGroup(of: Void.self) { group in
            for (index, store) in stores.enumerated() {
                group.addTask {
                    for number in 0..<60 {
                        let body = Bytes.random(number % 4 == 0 ? 90_000 : 20_000, seed: UInt64(index * 100 + number))
                        if await store.keep("http://\(index)/\(number)", body) == nil { skipped.withLock { $0 += 1 } }
                        if let bytes = folder.settledBytes { #expect(bytes <= limit, "\(bytes) bytes") }
                    }
                }
            }
        }
        #expect(folder.bytes <= limit)
        #expect(skipped.withLock { $0 } > 0 && log.unavailable.isEmpty)
        // Removing an entry takes precedence over storing a new one.
        await stores[3].removeAll(under: StoreKey("first 3"))
        #expect(await stores[0].find(StoreKey("first 3")).found.isEmpty)
        try reader.run("COMMIT")
        for (index, store) in stores.enumerated() {
            #expect(await store.keep("last \(index)", .random(20_000, seed: UInt64(index))) != nil)
        }
        #expect(folder.bytes <= limit)
        #expect(try await stores[0].verify().damage.isEmpty)
        for store in stores { await store.shutdown() }
    }
}
