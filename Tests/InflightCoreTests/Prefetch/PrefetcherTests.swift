import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

import struct Foundation.URL

@Suite("Prefetcher", .timeLimit(.minutes(10)))
struct PrefetcherTests {
    private func url(_ number: Int) -> String { "http://a.example/\(number)" }
    private func requests(_ numbers: Int...) -> [ImageRequest] { numbers.map { ImageRequest(url($0)) } }

    @Test("Each request that ends has one result, and a stopped one has none")
    func results() async throws {
        let stage = try Stage(.automatic) { $0.clock = SystemClock() }
        stage.transport.serve(url(1), .ok(FakeCodec.picture()))
        stage.transport.serve(url(2), .ok(Bytes("no image")))
        stage.transport.serve(url(3), .ok(FakeCodec.picture()).stalled("never"))
        let results = Guarded<[String]>([])
        let prefetcher = Prefetcher(pipeline: stage.pipeline, destination: .memory, turn: .time(.zero)) {
            request, result in
            let end =
                switch result {
                case .success(let source): "\(source)"
                case .failure(let error): "\(error.code)"
                }
            results.withLock { $0.append("\(request.url.suffix(1)) \(end)") }
        }
        prefetcher.start(requests(3, 1, 2, 1))
        prefetcher.start([""])
        try await stage.transport.waitForStarts(3)
        prefetcher.stop(requests(3))
        await prefetcher.waitUntilIdle()
        #expect(results.withLock { $0.sorted() } == [" invalidURL", "1 network", "2 notAnImage"])
        // A request that is started again has another result, from the memory cache.
        prefetcher.start(requests(1))
        await prefetcher.waitUntilIdle()
        #expect(results.withLock { $0.count { $0 == "1 memory" } } == 1)
        await stage.pipeline.shutdown(.cancel)
    }

    @Test("A cancelled wait leaves nothing behind in its prefetcher")
    func cancelledWaits() async throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        prefetcher.start(requests(1))
        for _ in 0..<10 {
            let waiting = Task { await prefetcher.waitUntilIdle() }
            waiting.cancel()
            await waiting.value
        }
        let waiters = Mirror(reflecting: prefetcher).descendant("core", "state", "value", "waiters")
        #expect(try #require(waiters as? [Bridge]).isEmpty)
        stage.finish()
    }

    @Test("A prefetch is sent at the end of the turn, at very low priority regardless of its request")
    func priority() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        prefetcher.start([ImageRequest(url(1), priority: .veryHigh)])
        #expect(stage.transport.startCount == 0)
        stage.turns.runAll()
        #expect(stage.transport.events == [.started(url(1), .veryLow)])
    }

    @Test("Prefetches started and stopped within one turn of the queue are never sent")
    func exactTurns() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        let requests = requests(1, 2, 3)
        stage.turns.submit {
            prefetcher.start(requests)
            prefetcher.stop(requests)
            prefetcher.stop(requests)
            prefetcher.start([requests[1]])
            prefetcher.stopAll()
        }
        stage.turns.runAll()
        #expect(stage.transport.startCount == 0)
        #expect(stage.stage.pipeline.statistics.tasks == 0)
        #expect(prefetcher.statistics.stopped == 3)
        #expect(prefetcher.statistics.sent == 0)
    }

    @Test("Without a turn queue, a turn ends after an interval measured by the pipeline clock")
    func timedTurns() throws {
        let stage = try PrefetchStage()
        let prefetcher = Prefetcher(pipeline: stage.stage.pipeline, destination: .memory)
        prefetcher.start(requests(1, 2))
        prefetcher.stop(requests(1, 2))
        #expect(stage.stage.clock.timerCount == 1)
        let slow = Prefetcher(
            pipeline: stage.stage.pipeline, destination: .memory, turn: .time(.milliseconds(20)),
            limit: 4,
            endings: stage.stage.queue.callbackQueue)
        slow.start(requests(3))
        stage.stage.clock.advance(by: .milliseconds(19))
        #expect(stage.stage.queue.count == 0)
        stage.stage.clock.advance(by: .milliseconds(1))
        stage.stage.queue.runAll()
        #expect(stage.transport.startedURLs == [url(3)])
        #expect(stage.stage.clock.timerCount == 0)
    }

    @Test("A call from another thread joins the current turn")
    func mixedThreads() async throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher(limit: 1)
        let requests = requests(1, 2)
        prefetcher.start(requests)
        await Bridge.wait { done in
            DispatchQueue.global().async {
                prefetcher.stop([requests[0]])
                done.open()
            }
        }
        #expect(stage.turns.count == 1)
        stage.turns.runAll()
        #expect(stage.transport.startedURLs == [requests[1].url])
    }

    @Test("If the queue drops the turn, the prefetches are sent anyway")
    func droppedTurn() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        prefetcher.start(requests(1))
        stage.turns.dropAll()
        #expect(stage.transport.startCount == 1)
        prefetcher.start(requests(2))
        stage.turns.runAll()
        #expect(stage.transport.startCount == 2)
    }

    @Test("Prefetched images are stored in the memory cache, and duplicates are fetched once")
    func memory() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        prefetcher.start(requests(1, 1, 2))
        prefetcher.start(requests(2))
        stage.finish()
        #expect(stage.transport.startCount == 2)
        #expect(stage.stage.pipeline.cache[ImageRequest(url(1))] != nil)
        #expect(stage.stage.pipeline.cache[ImageRequest(url(2))] != nil)
        prefetcher.start(requests(1))
        stage.finish()
        let statistics = prefetcher.statistics
        #expect(
            [statistics.requested, statistics.sent, statistics.loaded, statistics.found] == [3, 3, 2, 1])
        #expect(stage.transport.startCount == 2)
    }

    @Test("Prefetched bytes are retained without decoding and can be taken once")
    func bytes() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher(.bytes)
        prefetcher.start(requests(1))
        stage.finish()
        #expect(stage.stage.codec.decodes.count == 0)
        #expect(prefetcher.statistics.keptBytes == 10)
        #expect(prefetcher.takeResponse(for: ImageRequest(url(1)))?.body == FakeCodec.picture())
        #expect(prefetcher.takeResponse(for: ImageRequest(url(1))) == nil)
        #expect(prefetcher.statistics.keptBytes == 0)
    }

    @Test("Prefetched bytes stay within their limit: the oldest and oversized responses are evicted")
    func bytesLimit() throws {
        let stage = try PrefetchStage()
        stage.transport.serve(url(9), .ok(FakeCodec.picture(padding: 16)))
        let prefetcher = stage.prefetcher(.bytes(limit: 25))
        prefetcher.start(requests(1, 2, 3, 9))
        stage.finish()
        #expect(prefetcher.statistics.keptBytes == 20)
        #expect(prefetcher.statistics.evicted == 2)
        #expect(prefetcher.takeResponse(for: ImageRequest(url(1))) == nil)
        #expect(prefetcher.takeResponse(for: ImageRequest(url(9))) == nil)
        #expect(prefetcher.takeResponse(for: ImageRequest(url(2))) != nil)
        #expect(prefetcher.takeResponse(for: ImageRequest(url(3))) != nil)
    }

    @Test("A view that joins a prefetch raises it ahead of the other queued prefetches")
    func raising() throws {
        let stage = try PrefetchStage { $0.maximumConcurrentFetches = 1 }
        let prefetcher = stage.prefetcher()
        stage.stage.load(url(100))
        prefetcher.start(requests(1, 2))
        stage.turns.runAll()
        let log = Log()
        stage.stage.pipeline.load(ImageRequest(url(2)), on: stage.stage.queue.callbackQueue) {
            _, result in
            log.add("\((try? result.get().source.rawValue) ?? "failed")")
        }
        stage.finish()
        #expect(stage.transport.startedURLs == [url(100), url(2), url(1)])
        #expect(stage.transport.events.contains(.started(url(2), .normal)))
        #expect(stage.transport.events.contains(.started(url(1), .veryLow)))
        #expect(log.lines == ["shared"])
    }

    @Test("A bytes prefetch and an image task for the same URL are coalesced into one fetch")
    func bytesJoined() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher(.bytes)
        prefetcher.start(requests(1))
        stage.turns.runAll()
        let log = Log()
        stage.stage.pipeline.load(ImageRequest(url(1)), on: stage.stage.queue.callbackQueue) {
            _, result in
            log.add("\((try? result.get().width) ?? 0)")
        }
        stage.finish()
        #expect(log.lines == ["4"])
        #expect(stage.transport.startCount == 1)
        #expect(prefetcher.statistics.keptBytes == 10)
    }

    @Test("Stopping cancels running prefetches, except those restarted within the same turn")
    func stopping() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        prefetcher.start(requests(1, 2))
        stage.turns.runAll()
        prefetcher.stop(requests(1, 2))
        prefetcher.start(requests(2))
        stage.turns.runAll()
        #expect(stage.transport.cancelledURLs == [url(1)])
        stage.finish()
        #expect(stage.transport.startCount == 2)
        #expect(stage.stage.pipeline.cache[ImageRequest(url(2))] != nil)
    }

    @Test("A prefetcher runs no more prefetches than its limit, which can be raised")
    func limit() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher(limit: 2)
        prefetcher.start(requests(1, 2, 3, 4, 5))
        stage.turns.runAll()
        #expect(stage.transport.liveCount == 2)
        #expect(prefetcher.statistics.waiting == 3)
        prefetcher.limit = 3
        #expect(stage.transport.liveCount == 3)
        #expect(prefetcher.limit == 3)
        stage.finish()
        #expect(stage.transport.maximumLiveCount == 3)
        #expect(stage.transport.startedURLs == (1...5).map(url))
    }

    @Test(
        "A paused prefetcher sends nothing, lets running fetches finish, and continues when resumed")
    func pausing() throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher(limit: 1)
        prefetcher.start(requests(1, 2))
        stage.turns.runAll()
        prefetcher.pause()
        prefetcher.pause()
        #expect(prefetcher.isPaused)
        stage.finish()
        #expect(prefetcher.statistics.loaded == 1)
        #expect(stage.transport.startCount == 1)
        prefetcher.resume()
        #expect(stage.transport.startCount == 2)
        #expect(!prefetcher.isPaused)
    }

    @Test("A failed prefetch is counted, and fetched again when it is restarted")
    func failing() throws {
        let stage = try PrefetchStage()
        stage.transport.serve(url(1), inOrder: [.failure(.cannotConnect), .ok(FakeCodec.picture())])
        let prefetcher = stage.prefetcher()
        prefetcher.start([ImageRequest(url(1)), ImageRequest("nothing like a URL")])
        stage.finish()
        #expect(prefetcher.statistics.failed == 2)
        prefetcher.start(requests(1))
        stage.finish()
        #expect(prefetcher.statistics.loaded == 1)
    }

    @Test("A prefetcher with a priority sends its loads with it, URLs included")
    func ownPriority() throws {
        let stage = try PrefetchStage()
        let prefetcher = Prefetcher(
            pipeline: stage.stage.pipeline, destination: .memory, turn: .queue(stage.turns.callbackQueue), limit: 4,
            priority: .high, endings: stage.stage.queue.callbackQueue)
        let first = try #require(URL(string: url(1)))
        prefetcher.start([first])
        stage.turns.runAll()
        #expect(stage.transport.events == [.started(first.absoluteString, .high)])
        prefetcher.stop([first])
        stage.turns.runAll()
        #expect(prefetcher.statistics.stopped == 1)
    }

    @Test("Prefetching to the store retains no bytes in memory, and waiting returns when all have ended")
    func store() async throws {
        let stage = try StoreStage()
        for number in 1...3 {
            stage.serve(url(number), [.ok(Bytes("body"), fields: StoreStage.fields([("Cache-Control", "max-age=60")]))])
        }
        let prefetcher = Prefetcher(
            pipeline: stage.pipeline, destination: .store, turn: .queue(.queue(DispatchQueue(label: "turns"))))
        await prefetcher.waitUntilIdle()
        prefetcher.start(requests(1, 2, 3))
        await prefetcher.waitUntilIdle()
        #expect(prefetcher.statistics.loaded == 3 && prefetcher.statistics.evicted == 0)
        #expect(prefetcher.statistics.keptBytes == 0)
        #expect(prefetcher.takeResponse(for: requests(1)[0]) == nil)
        var stored = requests(2)[0]
        stored.cachePolicy = .onlyCached
        #expect(try await stage.pipeline.response(for: stored).body.count == 4)
    }

    @Test("Waiting for a prefetcher ends when the waiting task is cancelled")
    func cancelledWait() async throws {
        let stage = try PrefetchStage()
        let prefetcher = stage.prefetcher()
        prefetcher.start(requests(1))
        let waiting = Task { await prefetcher.waitUntilIdle() }
        waiting.cancel()
        await waiting.value
        #expect(stage.transport.startCount == 0)
        stage.turns.runAll()
        prefetcher.stopAll()
        stage.turns.runAll()
        await prefetcher.waitUntilIdle()
    }
}
