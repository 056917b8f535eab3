import Glibc
import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

/// Folders that are unwritable for a while, for various reasons.
@Suite("Disk cache: unwritable folder", .timeLimit(.minutes(10)))
struct UnwritableTests {
    private static let bodies = (0..<8).map { StoreWork.body($0) }

    /// The modes that forbid writing: those of the folder, or also those of everything in it.
    enum Forbidding: CaseIterable {
        case folder, everything
    }

    private static func allow(_ allows: Bool, _ what: Forbidding, _ folder: Folder) {
        if what == .everything {
            for name in folder.files.keys { unsafe chmod(folder.appending(name), allows ? 0o600 : 0o400) }
        }
        let folders = Set(folder.bodies.map { String($0.dropLast(17)) })
        for name in folders.union(["", "bodies"]) { unsafe chmod(folder.appending(name), allows ? 0o700 : 0o500) }
    }

    @Test("A read-only folder stores nothing, with one report, until it is writable", arguments: Forbidding.allCases)
    func readOnlyFolder(what: Forbidding) async {
        let folder = Folder()
        OtherUser.own(folder.parent)
        let first = folder.store { $0.fileSystem = OtherUser() }
        #expect(await first.keep("http://0", Self.bodies[0]) != nil)
        #expect(await first.keep("http://1", Self.bodies[1]) != nil)
        await first.shutdown()
        Self.allow(false, what, folder)
        let before = folder.files
        let (log, clock) = (EventLog(), VirtualClock())
        let store = folder.store(clock: clock, log: log) { $0.fileSystem = OtherUser() }
        for number in 2..<6 {
            #expect(await store.keep("http://\(number)", Self.bodies[number]) == nil)
            if let found = await store.body("http://1") { #expect(found == Self.bodies[1]) }
            clock.advance(by: .seconds(1))
        }
        #expect(log.unavailable.count == 1 && log.recoveries == 0, "\(log.events)")
        #expect(folder.files == before)
        Self.allow(true, what, folder)
        clock.advance(by: .seconds(1))
        #expect(await store.keep("http://6", Self.bodies[6]) != nil)
        for number in [0, 1, 6] { #expect(await store.body("http://\(number)") == Self.bodies[number]) }
        #expect(log.unavailable.count == 1 && log.recoveries == 1, "\(log.events)")
        await store.shutdown()
    }

    @Test("In a folder that becomes read-only, stored bodies are still found; the failure is reported once")
    func changedModes() async {
        let folder = Folder()
        OtherUser.own(folder.parent)
        let log = EventLog()
        let store = folder.store(log: log) { $0.fileSystem = OtherUser() }
        #expect(await store.keep("http://0", Self.bodies[0]) != nil)
        Self.allow(false, .folder, folder)
        // Bodies in files fail; those in the index are still stored.
        for number in [2, 3, 4, 5, 6] {
            #expect((await store.keep("http://\(number)", Self.bodies[number]) != nil) == (number % 2 == 1))
            #expect(await store.body("http://0") == Self.bodies[0])
        }
        #expect(log.unavailable.count == 1 && log.recoveries == 0, "\(log.events)")
        Self.allow(true, .folder, folder)
        #expect(await store.keep("http://6", Self.bodies[6]) != nil)
        #expect(log.unavailable.count == 1 && log.recoveries == 1, "\(log.events)")
        await store.shutdown()
    }

    @Test("On a full disk, stored bodies are still found, and storing resumes when there is space")
    func fullDisk() async {
        let folder = Folder()
        let (files, index) = (FailingFileSystem(), IndexFaults())
        let log = EventLog()
        let store = folder.store(log: log) {
            $0.fileSystem = files
            $0.indexFileSystem = index.name
        }
        for number in 0..<2 { #expect(await store.keep("http://\(number)", Self.bodies[number]) != nil) }
        files.setFull(true)
        index.fail(.noSpace, first: 1, stays: true)
        for number in 2..<6 {
            #expect(await store.keep("http://\(number)", Self.bodies[number]) == nil)
            for there in 0..<2 { #expect(await store.body("http://\(there)") == Self.bodies[there]) }
        }
        #expect(log.unavailable.count == 1 && log.recoveries == 0, "\(log.events)")
        files.setFull(false)
        index.heal()
        for number in 2..<6 { #expect(await store.keep("http://\(number)", Self.bodies[number]) != nil) }
        for number in 0..<6 { #expect(await store.body("http://\(number)") == Self.bodies[number]) }
        #expect(log.unavailable.count == 1 && log.recoveries == 1, "\(log.events)")
        await store.shutdown()
    }
}
