import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

/// Repeats `FailingFilesTests` for SQLite's files.
@Suite("Disk cache: failing index files", .timeLimit(.minutes(10)))
struct FailingIndexTests {
    /// Eight parts, which run concurrently.
    private static let parts = 8

    @Test(
        "If any index file operation fails, no wrong bytes are served and acknowledged entries survive",
        arguments: IndexFaults.Fault.allCases, 0..<parts)
    func singleFault(fault: IndexFaults.Fault, part: Int) async {
        var first = part + 1
        while true {
            let folder = Folder()
            let faults = IndexFaults()
            faults.fail(fault, first: first)
            let store = folder.store(limit: StoreWork.limit) { $0.indexFileSystem = faults.name }
            let kept = await StoreWork.run(store)
            await store.shutdown()
            if !faults.hasStruck { break }
            let what = "\(fault) of operation \(first), \(faults.struck)"
            let log = EventLog()
            let second = folder.store(limit: StoreWork.limit, log: log)
            for (url, body) in kept {
                let found = await second.find(StoreKey(url))
                if let bytes = found.body?.bytes { #expect(bytes == body, "\(what): other bytes of \(url)") }
                // No store can recover a write that the disk confirmed but lost.
                if fault != .lost { #expect(found.body != nil, "\(what): \(url) is lost; \(log.events)") }
            }
            #expect(await second.keep("new", StoreWork.body(6)) != nil, "\(what): nothing is kept")
            #expect(await second.body("new") == StoreWork.body(6), "\(what)")
            let found = try? await second.verify()
            if fault != .lost { #expect(found?.damage.isEmpty == true, "\(what): \(String(describing: found))") }
            #expect(folder.bytes <= StoreWork.limit, "\(what)")
            await second.shutdown()
            first += Self.parts
        }
        #expect(first > 30, "only \(first) operations were tried")
    }

    // Without `lost`: the store cannot report a failure of an operation that returned success.
    @Test(
        "While index operations fail, nothing is stored; failure and recovery are each reported once",
        arguments: [IndexFaults.Fault.inputOutput, .short, .noSpace])
    func lastingFault(fault: IndexFaults.Fault) async {
        let folder = Folder()
        let faults = IndexFaults()
        let (log, clock) = (EventLog(), VirtualClock())
        let store = folder.store(clock: clock, log: log) { $0.indexFileSystem = faults.name }
        let bodies = (0..<8).map(StoreWork.body)
        #expect(await store.keep("http://0", bodies[0]) != nil)
        faults.fail(fault, first: 1, stays: true)
        for number in 1..<6 {
            #expect(await store.keep("http://\(number)", bodies[number]) == nil)
            if let found = await store.body("http://0") { #expect(found == bodies[0]) }
            clock.advance(by: .seconds(1))
        }
        #expect(log.unavailable.count == 1, "\(log.events)")
        faults.heal()
        clock.advance(by: .seconds(1))
        #expect(await store.keep("http://6", bodies[6]) != nil)
        #expect(await store.body("http://0") == bodies[0])
        #expect(await store.body("http://6") == bodies[6])
        #expect(log.unavailable.count == 1 && log.recoveries == 1, "\(log.events)")
        await store.shutdown()
    }
}
