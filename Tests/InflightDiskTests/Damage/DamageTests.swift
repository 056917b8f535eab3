import Glibc
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

    @Test("A flipped bit in the index serves no wrong bytes, and some entries survive", arguments: 0..<60)
    func flippedBitInIndex(seed: UInt64) async {
        let folder = Folder()
        await Self.filled(folder)
        var random = SeededGenerator(seed: seed)
        var bytes = folder.read("index.sqlite")
        bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
        folder.write("index.sqlite", bytes)
        // A corrupt interior page may cost all rows except those on other pages; most bits are in bodies.
        _ = await Self.check(folder)
        #expect(await Self.check(folder) > 0)
    }

    @Test("A flipped bit in any file serves no wrong bytes, and some entries survive", arguments: 0..<20)
    func flippedBitInAnyFile(seed: UInt64) async {
        let folder = Folder()
        await Self.filled(folder)
        var random = SeededGenerator(seed: seed)
        let name = folder.files.keys.sorted()[random.below(folder.files.count)]
        var bytes = folder.read(name)
        if bytes.isEmpty { return }
        bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
        folder.write(name, bytes)
        #expect(await Self.check(folder) >= 1)
    }

    /// The root pages of all tables, and the first page, which holds the schema.
    @Test(
        "Overwriting the root page of a table loses no entries",
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
        #expect(await Self.check(folder, log, count: 80) == 80)
        #expect(log.repairs == [81], "\(log.events)")
        let verified = folder.store()
        #expect(try await verified.verify().damage.isEmpty)
        await verified.shutdown()
    }

    @Test("Repairing the index does not restore removed entries from unused pages")
    func removedEntriesStayRemoved() async throws {
        let folder = Folder()
        await Self.filled(folder, count: 80)
        let store = folder.store()
        for number in 0..<60 { await store.removeAll(under: StoreKey(Self.url(number))) }
        await store.shutdown()
        var bytes = folder.read("index.sqlite")
        // The first page, and the root pages after the pointer map.
        bytes.replaceSubrange(0..<4096, with: [UInt8](repeating: 0, count: 4096))
        for root in 3...8 { bytes[(root - 1) * 4096] = 0 }
        folder.write("index.sqlite", bytes)
        let next = folder.store()
        for number in 0..<60 { #expect(await next.find(StoreKey(Self.url(number))).found.isEmpty) }
        await next.shutdown()
    }

    @Test(
        "A truncated index is repaired once, and the entries that the repair kept are served",
        arguments: [0, 1, 100, 4096, 4097, 20_000, 100_000])
    func truncatedIndex(length: Int) async {
        let folder = Folder()
        await Self.filled(folder)
        let bytes = folder.read("index.sqlite")
        #expect(bytes.count > length)
        folder.write("index.sqlite", Array(bytes[..<length]))
        let (first, second) = (EventLog(), EventLog())
        let found = await Self.check(folder, first)
        // An empty index is replaced without a repair.
        #expect(first.repairs == (length == 0 ? [] : [found]), "\(first.events)")
        #expect(await Self.check(folder, second) == found)
        #expect(second.events.isEmpty, "\(second.events)")
    }

    @Test("An index of random bytes is replaced by an empty one, and all body files are removed", arguments: 0..<4)
    func randomIndex(seed: UInt64) async {
        let folder = Folder()
        await Self.filled(folder)
        folder.write("index.sqlite", Bytes.random(50_000, seed: seed).array)
        let log = EventLog()
        #expect(await Self.check(folder, log) == 0)
        #expect(log.repairs == [0])
        #expect(folder.bodies.isEmpty, "files that no index names stay")
    }

    @Test("An index copied from another cache serves no entries") func foreignIndex() async {
        let (folder, other) = (Folder(), Folder())
        await Self.filled(folder)
        await Self.filled(other)
        folder.write("index.sqlite", other.read("index.sqlite"))
        #expect(await Self.check(folder) == 0)
    }

    @Test("A write-ahead log copied from another cache causes a repair that loses no entries") func foreignLog() async {
        let (folder, other) = (Folder(), Folder())
        await Self.filled(folder)
        let writing = other.store()
        for number in 100..<130 { await writing.keep(Self.url(number), Self.body(number)) }
        folder.write("index.sqlite-wal", other.read("index.sqlite-wal"))
        #expect((folder.files["index.sqlite-wal"] ?? 0) > 10_000)
        await writing.shutdown()
        let log = EventLog()
        #expect(await Self.check(folder, log) == 24)
        #expect(log.repairs == [24])
        let next = folder.store()
        for number in 100..<130 { #expect(await next.find(StoreKey(Self.url(number))).found.isEmpty) }
        await next.shutdown()
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
