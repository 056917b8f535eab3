import Glibc
import InflightConcurrency
import InflightCore
import InflightSQLite
import InflightTestSupport
import Testing

@testable import InflightDisk

@Suite("Disk cache: damage", .timeLimit(.minutes(10)))
struct DamageTests {
    /// Fills a cache with small and large bodies and shuts it down.
    private static func filled(_ folder: Folder, count: Int = 24) async {
        let store = folder.store()
        for number in 0..<count { await store.keep(url(number), body(number)) }
        await store.shutdown()
    }

    private static func url(_ number: Int) -> String { "http://\(number)" }

    private static func body(_ number: Int) -> Bytes {
        .random(number % 3 == 0 ? 70_000 + number : number * 700, seed: UInt64(number))
    }

    /// Checks that every body is correct or absent, and that the store still accepts an entry.
    ///
    /// - Returns: The number of bodies found.
    private static func check(_ folder: Folder, _ log: EventLog = EventLog(), count: Int = 24) async -> Int {
        let store = folder.store(log: log)
        var there = 0
        for number in 0..<count {
            guard let found = await store.body(url(number)) else { continue }
            #expect(found == body(number), "a wrong byte of \(number) was served")
            there += 1
        }
        #expect(await store.keep("new", Bytes("new")) != nil)
        #expect(await store.body("new") == Bytes("new"))
        await store.shutdown()
        return there
    }

    @Test("A flipped bit in a body file costs only its own entry and is reported once") func flippedBitInBody() async {
        let folder = Folder()
        await Self.filled(folder)
        let name = folder.bodies[3]
        var bytes = folder.read(name)
        bytes[bytes.count / 2] ^= 0x10
        folder.write(name, bytes)
        let log = EventLog()
        #expect(await Self.check(folder, log) == 23)
        #expect(log.quarantined.count == 1)
        #expect(folder.bodies.count == 7)
        #expect(await Self.check(folder) == 23)
    }

    @Test("A truncated, empty or missing body file, or a folder in its place, costs only its own entry")
    func truncatedBodyFiles() async {
        let folder = Folder()
        await Self.filled(folder)
        let names = folder.bodies
        folder.write(names[0], Array(folder.read(names[0]).dropLast()))
        folder.write(names[1], [])
        folder.remove(names[2])
        folder.remove(names[3])
        unsafe mkdir(folder.appending(names[3]), 0o700)
        let log = EventLog()
        #expect(await Self.check(folder, log) == 20)
        #expect(log.quarantined.count == 4)
        #expect(log.quarantined.allSatisfy { $0?.hasPrefix("http://") == true })
    }

    @Test("Body files swapped with each other are not served") func swappedBodyFiles() async {
        let folder = Folder()
        await Self.filled(folder)
        let names = folder.bodies
        let (one, other) = (folder.read(names[0]), folder.read(names[1]))
        folder.write(names[0], other)
        folder.write(names[1], one)
        #expect(await Self.check(folder) == 22)
    }

    @Test("A flipped bit in the index costs one body, or the index with one report", arguments: 0..<60)
    func flippedBitInIndex(seed: UInt64) async {
        let folder = Folder()
        await Self.filled(folder)
        Self.flipBit(of: "index.sqlite", folder, seed: seed)
        let log = EventLog()
        let found = await Self.check(folder, log)
        // Most bits are in bodies. Other damage is found by the first lookup that meets it.
        #expect(log.discarded.count <= 1)
        #expect(found >= 23 || log.discarded.count == 1, "\(found): \(log.events)")
        // A bit of a row's hash hides the row from lookups.
        await Self.expectNoDamage(folder, found: log.discarded.isEmpty ? found : 0, damage: 1)
    }

    @Test("A flipped bit in any other file discards no index", arguments: 0..<20)
    func flippedBitInAnyFile(seed: UInt64) async {
        let folder = Folder()
        await Self.filled(folder)
        // As a kill would leave them: with a log.
        let store = folder.store()
        for number in 24..<32 { await store.keep(Self.url(number), Self.body(number)) }
        let copy = folder.copy()
        await store.shutdown()
        let names = copy.files.keys.filter { $0 != "index.sqlite" && $0 != "lock" }.sorted()
        let name = names[Int(seed) % names.count]
        Self.flipBit(of: name, copy, seed: seed)
        let log = EventLog()
        #expect(await Self.check(copy, log) >= 23, "\(name): \(log.events)")
        #expect(log.discarded.isEmpty)
    }

    private static func flipBit(of name: String, _ folder: Folder, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = folder.read(name)
        bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
        folder.write(name, bytes)
    }

    /// Checks that the next store finds as many bodies and nothing to report, and that no file belongs to no entry.
    private static func expectNoDamage(_ folder: Folder, found: Int, count: Int = 24, damage: Int = 0) async {
        let log = EventLog()
        #expect(await check(folder, log, count: count) == found)
        #expect(log.events.isEmpty, "\(log.events)")
        let store = folder.store()
        let verified = try? await store.verify()
        #expect(verified.map { $0.damage.count <= damage && $0.leftovers == 0 } == true, "\(verified as Any)")
        await store.shutdown()
    }

    /// The root pages of all tables, and the first page, which holds the schema.
    @Test(
        "If the root page of a table is overwritten, the index is discarded with one report of its entries",
        arguments: ["sqlite_schema", "entry", "body", "cache"], [0, 0x5A] as [UInt8])
    func overwrittenRootPage(table: String, byte: UInt8) async throws {
        let folder = Folder()
        await Self.filled(folder, count: 80)
        let store = folder.store()
        await store.keep("last", Bytes("x"))
        let root = try #require(
            try Database(path: folder.appending("index.sqlite"), mode: .reading, waitingAtMost: 1000)
                .number("SELECT ifnull((SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'), 1)"))
        await store.shutdown()
        var bytes = folder.read("index.sqlite")
        let page = Int(root - 1) * 4096..<Int(root) * 4096
        bytes.replaceSubrange(page, with: [UInt8](repeating: byte, count: 4096))
        folder.write("index.sqlite", bytes)
        let log = EventLog()
        // The first body has a file, and is found before the damage is.
        #expect(await Self.check(folder, log, count: 80) == (table == "body" ? 1 : 0))
        // The number of entries is in the table `cache`, and reading it needs the schema.
        #expect(log.discarded == [["entry", "body"].contains(table) ? 81 : nil], "\(log.events)")
        #expect(folder.bodies.isEmpty)
        await Self.expectNoDamage(folder, found: 0, count: 80)
    }

    @Test(
        "A truncated index is discarded with one report, and an empty one without",
        arguments: [0, 1, 100, 4096, 4097, 20_000, 100_000])
    func truncatedIndex(length: Int) async {
        let folder = Folder()
        await Self.filled(folder)
        let bytes = folder.read("index.sqlite")
        #expect(bytes.count > length)
        folder.write("index.sqlite", Array(bytes[..<length]))
        let log = EventLog()
        #expect(await Self.check(folder, log) == 0)
        #expect(log.discarded.count == (length == 0 ? 0 : 1), "\(log.events)")
        await Self.expectNoDamage(folder, found: 0)
    }

    @Test("An index of random bytes is discarded, and all body files are removed", arguments: 0..<4)
    func randomIndex(seed: UInt64) async {
        let folder = Folder()
        await Self.filled(folder)
        folder.write("index.sqlite", Bytes.random(50_000, seed: seed).array)
        let log = EventLog()
        #expect(await Self.check(folder, log) == 0)
        #expect(log.discarded == [nil])
        #expect(folder.bodies.isEmpty, "files that no index names stay")
    }

    @Test("An index copied from another cache is discarded") func foreignIndex() async {
        let (folder, other) = (Folder(), Folder())
        await Self.filled(folder)
        await Self.filled(other)
        folder.write("index.sqlite", other.read("index.sqlite"))
        let log = EventLog()
        #expect(await Self.check(folder, log) == 0)
        #expect(log.discarded == [nil])
        await Self.expectNoDamage(folder, found: 0)
    }

    @Test("While an index is discarded, the folder keeps to its limit") func limitWhileDiscarding() async {
        let folder = Folder()
        let limit = DiskStore.Configuration.minimumLimit
        let first = folder.store(limit: limit)
        for number in 0..<400 {
            await first.keep(Self.url(number), .random(number % 2 == 0 ? 40_000 : 90_000, seed: UInt64(number)))
        }
        // As a kill would leave it: full, with a log.
        let copy = folder.copy()
        await first.shutdown()
        #expect(copy.bytes > limit / 4 * 3 && copy.bytes <= limit, "\(copy.bytes) bytes")
        copy.write("index.sqlite", Bytes.random(Int(copy.files["index.sqlite"] ?? 0), seed: 1).array)
        // The bodies are listed when the new index is complete and nothing has been removed yet.
        let sizes = Guarded<[Int64]>([])
        let files = FailingFileSystem(beforeListing: { sizes.withLock { $0.append(copy.bytes) } })
        let log = EventLog()
        let store = copy.store(limit: limit, log: log) { $0.fileSystem = files }
        for number in 0..<400 {
            if let body = await store.body(Self.url(number)) {
                #expect(body == .random(number % 2 == 0 ? 40_000 : 90_000, seed: UInt64(number)))
            }
        }
        #expect(await store.keep("new", Bytes("new")) != nil)
        #expect(log.discarded.count == 1, "\(log.events)")
        let largest = sizes.withLock { $0.max() } ?? 0
        #expect(largest > limit / 2 && largest <= limit, "\(largest) bytes")
        #expect(copy.bytes < 200_000 && copy.bodies.isEmpty)
        await store.shutdown()
    }

    @Test("Other stores of the folder go on after the index was discarded, and only one reports it")
    func otherStores() async {
        let folder = Folder()
        await Self.filled(folder)
        let log = EventLog()
        let stores = (0..<3).map { _ in folder.store(log: log) }
        for store in stores { #expect(await store.body(Self.url(1)) == Self.body(1)) }
        var bytes = folder.read("index.sqlite")
        for page in 1..<bytes.count / 4096 { bytes[page * 4096] = 0x5A }
        folder.write("index.sqlite", bytes)
        await withTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for other in 0..<24 {
                        if let found = await store.body(Self.url(other)) { #expect(found == Self.body(other)) }
                    }
                    #expect(await store.keep("new \(number)", .random(90_000, seed: UInt64(number))) != nil)
                }
            }
        }
        for store in stores {
            for number in stores.indices {
                #expect(await store.body("new \(number)") == .random(90_000, seed: UInt64(number)))
            }
        }
        #expect(log.discarded.count == 1 && log.unavailable.isEmpty, "\(log.events)")
        for store in stores { await store.shutdown() }
    }

    @Test("On a full disk, a damaged index stays and nothing is served; when there is space, it is discarded")
    func fullDisk() async {
        let folder = Folder()
        await Self.filled(folder)
        var bytes = folder.read("index.sqlite")
        bytes.replaceSubrange(0..<4096, with: [UInt8](repeating: 0, count: 4096))
        folder.write("index.sqlite", bytes)
        let before = folder.files
        let (files, index) = (FailingFileSystem(), IndexFaults())
        let (log, clock) = (EventLog(), VirtualClock())
        let store = folder.store(clock: clock, log: log) {
            $0.fileSystem = files
            $0.indexFileSystem = index.name
        }
        // The disk accepts new names but no bytes, then nothing at all.
        index.fail(.noSpace, first: 1, stays: true)
        for isFull in [false, true] {
            files.setFull(isFull)
            for number in 0..<24 { #expect(await store.body(Self.url(number)) == nil) }
            #expect(await store.keep("new", Bytes("new")) == nil)
            #expect(folder.files == before)
            clock.advance(by: .seconds(1))
        }
        #expect(log.unavailable.count == 1 && log.discarded.isEmpty, "\(log.events)")
        files.setFull(false)
        index.heal()
        #expect(await store.keep("new", Bytes("new")) != nil)
        #expect(await store.body("new") == Bytes("new"))
        #expect(log.discarded.count == 1 && log.recoveries == 1, "\(log.events)")
        await store.shutdown()
        await Self.expectNoDamage(folder, found: 0)
    }

    /// A closed cache with the log of another one.
    private static func withForeignLog() async -> Folder {
        let (folder, other) = (Folder(), Folder())
        await filled(folder)
        let writing = other.store()
        for number in 100..<130 { await writing.keep(url(number), body(number)) }
        folder.write("index.sqlite-wal", other.read("index.sqlite-wal"))
        #expect((folder.files["index.sqlite-wal"] ?? 0) > 10_000)
        await writing.shutdown()
        return folder
    }

    @Test("A write-ahead log copied from another cache is removed, and all entries are found") func foreignLog() async {
        let folder = await Self.withForeignLog()
        // A body that only the lost log named.
        folder.write(String(folder.bodies[0].dropLast(14)) + "000000000000ff", [1, 2, 3])
        let log = EventLog()
        #expect(await Self.check(folder, log) == 24)
        #expect(log.events.isEmpty, "\(log.events)")
        let next = folder.store()
        for number in 100..<130 { #expect(await next.find(StoreKey(Self.url(number))).found.isEmpty) }
        await next.shutdown()
        await Self.expectNoDamage(folder, found: 24)
    }

    @Test("A write-ahead log that is overwritten while in use costs no entries of the index") func logInUse() async {
        let folder = Folder()
        await Self.filled(folder)
        let log = EventLog()
        let store = folder.store(log: log)
        for number in 24..<40 { await store.keep(Self.url(number), Self.body(number)) }
        let bytes = folder.read("index.sqlite-wal")
        folder.write("index.sqlite-wal", Array(bytes[..<32]) + Bytes.random(bytes.count - 32, seed: 1).array)
        for number in 0..<40 {
            let found = await store.body(Self.url(number))
            if found != nil || number < 24 { #expect(found == Self.body(number), "\(number)") }
        }
        #expect(await store.keep("new", Bytes("new")) != nil)
        #expect(log.events.isEmpty, "\(log.events)")
        await store.shutdown()
        await Self.expectNoDamage(folder, found: 24)
    }

    @Test(
        "While an index cannot be copied without a foreign log, it stays, and all entries are found later",
        arguments: [IndexFaults.Fault.inputOutput, .noSpace])
    func foreignLogAndFault(fault: IndexFaults.Fault) async {
        var first = 1
        while true {
            let folder = await Self.withForeignLog()
            let faults = IndexFaults()
            faults.fail(fault, first: first, stays: true)
            let log = EventLog()
            let store = folder.store(log: log) { $0.indexFileSystem = faults.name }
            for number in 0..<24 {
                if let found = await store.body(Self.url(number)) { #expect(found == Self.body(number)) }
            }
            await store.shutdown()
            #expect(log.discarded.isEmpty, "\(fault) from operation \(first): \(log.events)")
            #expect(await Self.check(folder, log) == 24, "\(fault) from operation \(first)")
            #expect(log.discarded.isEmpty)
            if !faults.hasStruck { break }
            first += first < 80 ? 1 : 40
        }
        #expect(first > 10, "only \(first) operations were tried")
    }

    @Test("A folder whose files are all overwritten with random bytes is rejected with one report")
    func randomFiles() async {
        for seed: UInt64 in 0..<4 {
            let folder = Folder()
            await Self.filled(folder)
            for (index, name) in folder.files.keys.sorted().enumerated() {
                folder.write(name, Bytes.random(3000, seed: seed * 100 + UInt64(index)).array)
            }
            let log = EventLog()
            let store = folder.store(log: log)
            for number in 0..<24 { #expect(await store.body(Self.url(number)) == nil) }
            // Without a tag of its own, the folder counts as another program's.
            #expect(await store.keep("new", Bytes("new")) == nil)
            #expect(log.unavailable.count == 1)
            await store.shutdown()
        }
    }

    @Test("A damaged CACHEDIR.TAG is restored from the index and loses no entries") func damagedTag() async {
        let folder = Folder()
        await Self.filled(folder)
        let whole = folder.read("CACHEDIR.TAG")
        var tag = whole
        tag[tag.count - 25] ^= 1
        folder.write("CACHEDIR.TAG", tag)
        #expect(await Self.check(folder) == 24)
        #expect(folder.read("CACHEDIR.TAG") == whole)
    }
}
