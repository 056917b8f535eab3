import Glibc
import InflightConcurrency
import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

@Suite("Disk cache: failing files", .timeLimit(.minutes(10)))
struct FailingFilesTests {
    @Test(
        "If a file operation fails, no wrong bytes are served; only a read or a lost write costs an entry",
        arguments: FailingFileSystem.Fault.allCases)
    fileprivate func singleFault(fault: FailingFileSystem.Fault) async {
        var failing = 1
        while true {
            let folder = Folder()
            let files = FailingFileSystem(failing: failing, fault: fault)
            let first = folder.store { $0.fileSystem = files }
            let kept = await StoreWork.run(first)
            await first.shutdown()
            if !files.hasFailed { break }
            let log = EventLog()
            let second = folder.store(log: log)
            var missing: [String] = []
            for (url, body) in kept {
                let found = await second.body(url)
                if let found { #expect(found == body, "\(fault) of operation \(failing): other bytes of \(url)") }
                if found == nil { missing.append(url) }
            }
            // A body that cannot be read counts as damaged, and so does a body whose write reported success without
            // effect. Both lose their entry. A change that reports its failure is not acknowledged, so it loses no
            // entry.
            let isCostly = fault == .lost || !files.hasFailedChange
            #expect(missing.count <= (isCostly ? 1 : 0), "\(fault) of operation \(failing): \(missing) are lost")
            #expect(
                await second.keep("new", StoreWork.body(6)) != nil, "\(fault) of operation \(failing): nothing is kept")
            #expect(await second.body("new") == StoreWork.body(6))
            await second.shutdown()
            failing += 1
        }
        #expect(failing > (fault == .noSpace ? 15 : 40), "only \(failing) operations were tried")
    }

    @Test("No file operation runs on the thread of the caller") func callerThread() async {
        let folder = Folder()
        let files = FailingFileSystem()
        let callers = Guarded<Set<UInt>>([])
        await Bridge.wait { done in
            callers.withLock { _ = $0.insert(UInt(pthread_self())) }
            let store = folder.store { $0.fileSystem = files }
            store.keep(
                .example("a", body: StoreWork.body(2)), body: StoreWork.body(2), under: StoreKey("a"), replacing: []
            ) {
                _ in
                store.find(StoreKey("a"), choose: { _ in 0 }) { _, _ in done.open() }
            }
        }
        #expect(!files.threads.isEmpty)
        #expect(files.threads.isDisjoint(with: callers.withLock { $0 }))
    }

    @Test("A blocked write does not delay cache hits") func blockedWrite() async {
        let folder = Folder()
        let isBlocking = Guarded(false)
        let (reached, released) = (Bridge(), Guarded(false))
        let files = FailingFileSystem(beforeWrite: {
            guard isBlocking.withLock({ $0 }) else { return }
            reached.open()
            while !released.withLock({ $0 }) { sched_yield() }
        })
        let store = folder.store { $0.fileSystem = files }
        await store.keep("small", Bytes("x"))
        await store.keep("large", StoreWork.body(2))
        isBlocking.withLock { $0 = true }
        let slow = Bridge()
        store.keep(
            .example("slow", body: StoreWork.body(4)), body: StoreWork.body(4), under: StoreKey("slow"), replacing: []
        ) {
            _ in
            slow.open()
        }
        await reached.wait()
        #expect(await store.body("small") == Bytes("x"))
        #expect(await store.body("large") == StoreWork.body(2))
        released.withLock { $0 = true }
        await slow.wait()
        #expect(await store.body("slow") == StoreWork.body(4))
        await store.shutdown()
    }
}
