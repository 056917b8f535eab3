import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightDisk

@Suite("Disk cache: folder", .timeLimit(.minutes(10)))
struct FolderTests {
    @Test("The cache folder and its bodies are private to the user, and it has a CACHEDIR.TAG")
    func privateFolder() async {
        let folder = Folder()
        let store = folder.store()
        await store.keep("a", .random(100_000, seed: 1))
        var status = stat()
        unsafe stat(folder.path, &status)
        #expect(status.st_mode & 0o777 == 0o700)
        #expect(
            String(decoding: folder.read("CACHEDIR.TAG"), as: UTF8.self).hasPrefix(
                "Signature: 8a477f597d28d172789f06886806bc55\n"))
        for body in folder.bodies {
            unsafe stat(folder.appending(body), &status)
            #expect(status.st_mode & 0o077 == 0)
        }
        await store.shutdown()
    }

    /// Returns the files that other users may access.
    private static func open(_ folder: Folder) -> [String] {
        folder.files.keys.filter { name in
            var status = stat()
            return unsafe stat(folder.appending(name), &status) != 0 || status.st_mode & 0o777 != 0o600
        }.sorted()
    }

    @Test("Cache files get mode 0600 whatever the umask, and again after their mode has changed")
    func privateFiles() async {
        let folder = Folder()
        let mask = umask(0)
        let store = folder.store()
        await store.keep("a", .random(100_000, seed: 1))
        umask(mask)
        #expect(folder.files.keys.contains("index.sqlite-wal") && folder.files.keys.contains("index.sqlite-shm"))
        #expect(Self.open(folder).isEmpty)
        await store.shutdown()
        #expect(Self.open(folder).isEmpty)
        unsafe chmod(folder.appending("index.sqlite"), 0o644)
        let again = folder.store()
        #expect(await again.body("a") == .random(100_000, seed: 1))
        #expect(await again.keep("b", Bytes("x")) != nil)
        #expect(Self.open(folder).isEmpty)
        await again.shutdown()
        folder.write("index.sqlite", Bytes.random(20_000, seed: 5).array)
        let mended = folder.store()
        #expect(await mended.keep("c", Bytes("x")) != nil)
        #expect(Self.open(folder).isEmpty)
        await mended.shutdown()
    }

    @Test("A folder with unrelated files is rejected with one report and left unchanged") func unrelatedFiles() async {
        let folder = Folder()
        folder.write("letter.txt", Array("dear".utf8))
        let log = EventLog()
        let clock = VirtualClock()
        let store = folder.store(clock: clock, log: log)
        for _ in 0..<3 {
            #expect(await store.keep("a", Bytes("x")) == nil)
            #expect(await store.body("a") == nil)
            clock.advance(by: .seconds(2))
        }
        #expect(folder.files == ["letter.txt": 4])
        #expect(log.unavailable.count == 1)
        #expect(log.unavailable.first?.message.contains("contains other files") == true)
        folder.remove("letter.txt")
        clock.advance(by: .seconds(2))
        #expect(await store.keep("a", Bytes("x")) != nil)
        #expect(log.recoveries == 1)
        await store.shutdown()
    }

    @Test("The cache folder may be reached through symbolic links, before and after it exists")
    func symbolicLinks() async throws {
        let folder = Folder()
        unsafe mkdir(folder.parent + "/real", 0o700)
        unsafe symlink("real", folder.parent + "/link")
        unsafe symlink("link/cache", folder.path)
        let log = EventLog()
        for isDirect in [false, true, false] {
            let path = isDirect ? folder.path : folder.parent + "/link/./cache"
            let store = folder.store(log: log) { $0.folder = path }
            #expect(await store.keep("a", .random(100_000, seed: 1)) != nil)
            #expect(await store.body("a") == .random(100_000, seed: 1))
            #expect(try await store.verify().damage.isEmpty)
            await store.shutdown()
        }
        #expect(log.unavailable.isEmpty, "\(log.unavailable)")
        #expect(unsafe access(folder.parent + "/real/cache/index.sqlite", F_OK) == 0)
    }

    @Test("A folder owned by another user is rejected with one report and left unchanged") func otherOwner() async {
        let folder = Folder()
        let first = folder.store()
        #expect(await first.keep("a", Bytes("x")) != nil)
        await first.shutdown()
        // Opens the folder as another user, to whom the modes grant full access.
        for name in folder.files.keys { unsafe chmod(folder.appending(name), 0o666) }
        for path in [folder.parent, folder.path] { unsafe chmod(path, 0o777) }
        let before = folder.files
        let log = EventLog()
        let store = folder.store(log: log) { $0.fileSystem = OtherUser() }
        for _ in 0..<2 { #expect(await store.body("a") == nil) }
        #expect(log.unavailable.map { $0.message.contains("belongs to another user") } == [true])
        await store.shutdown()
        #expect(folder.files == before)
    }

    @Test("A symbolic link in place of the bodies folder is rejected, and its target stays empty")
    func linkedBodies() async {
        let folder = Folder()
        let first = folder.store()
        #expect(await first.keep("a", Bytes("x")) != nil)
        await first.shutdown()
        unsafe mkdir(folder.parent + "/elsewhere", 0o700)
        folder.remove("bodies")
        unsafe symlink("../elsewhere", folder.appending("bodies"))
        let log = EventLog()
        let store = folder.store(log: log)
        #expect(await store.keep("b", .random(100_000, seed: 1)) == nil)
        #expect(log.unavailable.map { $0.message.contains("is a symbolic link") } == [true])
        await store.shutdown()
        #expect(unsafe rmdir(folder.parent + "/elsewhere") == 0)
    }

    @Test("A folder tagged by another program is rejected") func foreignTag() async {
        let folder = Folder()
        folder.write("CACHEDIR.TAG", Array("Signature: 8a477f597d28d172789f06886806bc55\n# somebody's\n".utf8))
        let log = EventLog()
        let store = folder.store(log: log)
        #expect(await store.keep("a", Bytes("x")) == nil)
        #expect(folder.files.keys.sorted() == ["CACHEDIR.TAG"])
        #expect(log.unavailable.count == 1)
        await store.shutdown()
    }

    @Test("A folder that is deleted while its store is open is created again") func deletedFolder() async {
        let folder = Folder()
        let log = EventLog()
        let store = folder.store(log: log)
        await store.keep("a", .random(100_000, seed: 1))
        folder.remove()
        #expect(await store.body("a") == nil)
        #expect(await store.keep("b", Bytes("x")) != nil)
        #expect(await store.body("b") == Bytes("x"))
        folder.remove()
        #expect(await store.keep("c", .random(100_000, seed: 2)) != nil)
        #expect(await store.body("c") == .random(100_000, seed: 2))
        #expect(log.unavailable.isEmpty)
        await store.shutdown()
    }

    @Test("A file in place of the cache folder disables the cache, with one report, until it is removed")
    func fileInPlace() async {
        let folder = Folder()
        let clock = VirtualClock()
        let log = EventLog()
        unsafe fclose(fopen(folder.path, "w"))
        let store = folder.store(clock: clock, log: log)
        #expect(await store.keep("a", Bytes("x")) == nil)
        #expect(await store.keep("a", Bytes("x")) == nil)
        #expect(log.unavailable.count == 1)
        unsafe unlink(folder.path)
        #expect(await store.keep("a", Bytes("x")) == nil, "it is not tried again at once")
        clock.advance(by: .seconds(1))
        #expect(await store.keep("a", Bytes("x")) != nil)
        #expect(log.recoveries == 1)
        await store.shutdown()
    }

    @Test("If createsFolder is false, a missing folder is not created and an existing cache is used")
    func existingOnly() async throws {
        let folder = Folder()
        let clock = VirtualClock()
        let store = folder.store(clock: clock) { $0.createsFolder = false }
        for isThere in [false, true] {
            if isThere { unsafe mkdir(folder.path, 0o700) }
            await #expect { try await store.statistics() } throws: { ($0 as? LoadError)?.code == .notStored }
            await #expect { try await store.clear(.all) } throws: { ($0 as? LoadError)?.code == .notStored }
            #expect(await store.keep("a", Bytes("x")) == nil)
            #expect(folder.files.isEmpty)
            #expect(unsafe (access(folder.path, F_OK) == 0) == isThere)
            clock.advance(by: .seconds(2))
        }
        await store.shutdown()
        let first = folder.store()
        await first.keep("a", Bytes("x"))
        await first.shutdown()
        let second = folder.store { $0.createsFolder = false }
        #expect(try await second.statistics().entries == 1)
        #expect(await second.body("a") == Bytes("x"))
        await second.shutdown()
    }

    @Test("An index with a newer layout is rejected and left unchanged") func newerLayout() async throws {
        let folder = Folder()
        let newer = Layout(version: 2, migrations: [1: Self.migration], tables: Layout.tables + Self.addition)
        let first = folder.store { $0.layout = newer }
        await first.keep("a", Bytes("x"))
        await first.shutdown()
        let before = folder.read("index.sqlite")
        let log = EventLog()
        let store = folder.store(log: log)
        #expect(await store.keep("b", Bytes("x")) == nil)
        #expect(await store.body("a") == nil)
        await store.shutdown()
        let error = try #require(log.unavailable.first)
        #expect(error.message.contains("layout 2") && error.message.contains("newer program"))
        #expect(folder.read("index.sqlite") == before)
        let again = folder.store { $0.layout = newer }
        #expect(await again.body("a") == Bytes("x"))
        await again.shutdown()
    }

    private static let addition = "CREATE TABLE addition (id INTEGER PRIMARY KEY);"
    private static let migration = addition

    @Test("An index with an older layout is migrated, and its entries survive") func olderLayout() async {
        let folder = Folder()
        let first = folder.store()
        await first.keep("a", Bytes("x"))
        await first.keep("b", .random(100_000, seed: 1))
        await first.shutdown()
        let log = EventLog()
        let newer = Layout(version: 2, migrations: [1: Self.migration], tables: Layout.tables + Self.addition)
        let second = folder.store(log: log) { $0.layout = newer }
        #expect(await second.body("a") == Bytes("x"))
        #expect(await second.body("b") == .random(100_000, seed: 1))
        await second.shutdown()
        #expect(log.events.isEmpty)
        // A program with the old layout reports that it is too old.
        let third = folder.store(log: log)
        #expect(await third.body("a") == nil)
        #expect(log.unavailable.count == 1)
        await third.shutdown()
    }
}
