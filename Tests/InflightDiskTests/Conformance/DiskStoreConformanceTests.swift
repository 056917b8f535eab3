import InflightConcurrency
import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

@Suite("Response store conformance", .timeLimit(.minutes(10)))
struct DiskStoreConformanceTests {
    @Test("The disk store passes every check", arguments: ResponseStoreConformance.checks)
    func diskStore(check: ResponseStoreConformance.Check) async {
        let folder = Folder()
        let failures = await ResponseStoreConformance { folder.store() }.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("The disk store with power-cut durability passes every check", arguments: ResponseStoreConformance.checks)
    func durableDiskStore(check: ResponseStoreConformance.Check) async {
        let folder = Folder()
        let failures = await ResponseStoreConformance { folder.store { $0.durability = .powerCut } }.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("The memory store passes every check", arguments: ResponseStoreConformance.checks)
    func memoryStore(check: ResponseStoreConformance.Check) async {
        let failures = await ResponseStoreConformance { MemoryStore() }.run(check)
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test("A new store finds the responses of an earlier store in the same folder") func reopening() async {
        let folder = Folder()
        let first = folder.store()
        let body = Bytes.random(100_000, seed: 1)
        let ids = [await first.keep("a", Bytes("small")), await first.keep("b", body)]
        await first.shutdown()
        let second = folder.store()
        #expect(await second.find(StoreKey("a")).found.map(\.id) == [ids[0]])
        #expect(await second.body("a") == Bytes("small"))
        #expect(await second.body("b") == body)
        await second.shutdown()
    }

    @Test("A store released without a shutdown completes its pending operations") func release() async {
        let folder = Folder()
        await Bridge.wait { done in
            folder.store().keep(.example("a", body: Bytes("x")), body: Bytes("x"), under: StoreKey("a"), replacing: [])
            { _ in
                done.open()
            }
        }
        let second = folder.store()
        #expect(await second.body("a") == Bytes("x"))
        await second.shutdown()
    }
}
