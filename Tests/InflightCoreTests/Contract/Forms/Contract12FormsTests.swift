import Dispatch
import Foundation
import InflightConcurrency
import InflightCore
import InflightDisk
import InflightTestSupport
import Testing

/// A folder with a disk cache, and the processes that use it in turn. None closes the cache before the next one starts,
/// as if it had been killed with its data on the disk. `make crash` kills real processes.
private final class CacheFolder: Sendable {
    let folder: URL
    private let processes = Guarded([(stage: Stage, store: DiskStore)]())

    init() {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("inflight-12-\(UUID())")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Starts a process with an empty memory cache. Its responses are fresh for an hour.
    func process(_ answer: ScriptedTransport.Script) async throws -> Stage {
        await acknowledge()
        var configuration = DiskStore.Configuration(folder: folder.path)
        // Stores every body in its own file, where a test can find it.
        configuration.inlineLimit = 0
        let store = DiskStore(configuration)
        let stage = try Stage(.automatic) { $0.store = .shared(store) }
        stage.transport.serveOthers(answer)
        processes.withLock { $0.append((stage, store)) }
        return stage
    }

    static func answer(width: UInt8 = 4, padding: Int = 0, tag: String = "\"a\"") -> ScriptedTransport.Script {
        .ok(
            FakeCodec.picture(width: width, padding: padding),
            fields: HTTPFields([("Cache-Control", "max-age=3600"), ("ETag", tag)]))
    }

    /// Returns when the store has acknowledged all writes of the processes so far.
    private func acknowledge() async {
        for (stage, _) in processes.withLock({ $0 }) { await stage.pipeline.shutdown(.finish) }
    }

    /// Changes the file of each body.
    func damage(_ change: (inout Data) -> Void) async throws {
        await acknowledge()
        let bodies = folder.appendingPathComponent("bodies")
        var count = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: bodies.path) {
            let file = bodies.appendingPathComponent(name)
            guard var bytes = try? Data(contentsOf: file) else { continue }
            change(&bytes)
            try bytes.write(to: file)
            count += 1
        }
        #expect(count > 0, "there is no body to damage")
    }

    func end() async {
        for (stage, store) in processes.withLock({ $0 }) {
            await stage.pipeline.shutdown(.cancel)
            await store.shutdown()
        }
    }
}

extension Stage {
    /// Loads in a form, and returns its ending.
    fileprivate func load(_ form: Form) async -> String {
        let load = form.begin(ImageRequest(Stage.url), pipeline)
        let ending = await load.deliveries.ending
        await load.settle()
        return ending
    }
}

@Suite("Contract 12 in every API form: durability", .timeLimit(.minutes(10)))
struct Contract12FormsTests {
    @Test("An acknowledged response is complete in the next process", arguments: Form.allCases)
    func acknowledged(form: Form) async throws {
        let cacheFolder = CacheFolder()
        #expect(try await cacheFolder.process(CacheFolder.answer()).load(form) == "4 wide")
        let second = try await cacheFolder.process(CacheFolder.answer(width: 9))
        #expect(await second.load(form) == "4 wide")
        #expect(second.transport.startCount == 0)
        await cacheFolder.end()
    }

    @Test("A damaged entry is fetched again instead of served, and replaced", arguments: Form.allCases, [0, 1, 2])
    func damaged(form: Form, damage: Int) async throws {
        let cacheFolder = CacheFolder()
        #expect(try await cacheFolder.process(CacheFolder.answer(padding: 100)).load(form) == "4 wide")
        try await cacheFolder.damage { bytes in
            switch damage {
            // The result is still an image, but of another width.
            case 0: bytes[8] = 7
            case 1: bytes.removeLast()
            default: bytes.removeAll()
            }
        }
        let second = try await cacheFolder.process(CacheFolder.answer(width: 9))
        #expect(await second.load(form) == "9 wide")
        #expect(second.transport.startCount == 1)
        let third = try await cacheFolder.process(CacheFolder.answer(width: 5))
        #expect(await third.load(form) == "9 wide")
        #expect(third.transport.startCount == 0)
        await cacheFolder.end()
    }

    @Test("A response invalidated by DELETE does not return in the next process", arguments: Form.allCases)
    func removed(form: Form) async throws {
        let cacheFolder = CacheFolder()
        let first = try await cacheFolder.process(CacheFolder.answer())
        #expect(await first.load(form) == "4 wide")
        var request = ImageRequest(Stage.url)
        request.method = "DELETE"
        _ = try await first.pipeline.response(for: request)
        let second = try await cacheFolder.process(CacheFolder.answer(width: 9))
        #expect(await second.load(form) == "9 wide")
        #expect(second.transport.startCount == 1)
        await cacheFolder.end()
    }

    @Test(
        "The next process resumes a partial body and never serves it as complete",
        arguments: Form.allCases)
    func part(form: Form) async throws {
        let cacheFolder = CacheFolder()
        let body = FakeCodec.picture(padding: 2 << 20)
        let broken = CacheFolder.answer(padding: 2 << 20).failing(.truncated, after: 1 << 20)
        #expect(try await cacheFolder.process(broken).load(form) == "truncated")
        let second = try await cacheFolder.process(CacheFolder.answer(width: 9))
        let asked = Guarded<String?>(nil)
        second.transport.serve(Stage.url) { request in
            asked.withLock { $0 = request.fields["range"] }
            guard let range = request.fields["range"], let start = Int(range.dropFirst(6).dropLast()) else {
                return CacheFolder.answer(width: 9)
            }
            return .partial(
                body.part(start..<body.count), from: start, of: body.count, fields: HTTPFields([("ETag", "\"a\"")]))
        }
        #expect(await second.load(form) == "4 wide")
        #expect(asked.withLock { $0 } != nil, "all of it was asked for again")
        await cacheFolder.end()
    }
}
