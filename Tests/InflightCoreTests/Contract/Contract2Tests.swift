import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 2: no callback inside the starting call", .timeLimit(.minutes(10)))
struct Contract2Tests {
    @Test(
        "A callback on a serial queue runs after the call on it has returned, whatever the result",
        arguments: ["http://a.example/1", "http://a.example/missing", "no URL", "gopher://a.example/"])
    func serialQueue(url: String) async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(Bytes("x")))
        let queue = DispatchQueue(label: "callbacks")
        let log = Log()
        let end = Promise<Bool>()
        queue.async {
            stage.pipeline.loadResponse(ImageRequest(url), on: .queue(queue)) { _, _ in
                log.add("called")
                end.set(true)
            }
            log.add("returned")
        }
        #expect(try await end.value)
        #expect(log.lines == ["returned", "called"])
    }

    @Test("Every callback receives its task")
    func handedItsTask() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("body"), chunks: [2]))
        let seen = Guarded([ImageTask]())
        let task = stage.pipeline.loadResponse(ImageRequest(Stage.url), on: stage.queue.callbackQueue) { task, _ in
            seen.withLock { $0.append(task) }
        } completion: { task, _ in
            seen.withLock { $0.append(task) }
        }
        stage.transport.finish(Stage.url)
        stage.queue.runAll()
        let tasks = seen.withLock { $0 }
        #expect(tasks.count == 2)
        #expect(tasks.allSatisfy { $0 === task })
    }

    @Test("A memory hit is returned by cached() at once, and by load() in a callback")
    func memory() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let request = ImageRequest(Stage.url)
        #expect(stage.pipeline.cache[request]?.source == nil)
        #expect(try await stage.pipeline.image(for: request).source == .network)
        #expect(stage.pipeline.cache[request]?.source == .memory)

        let log = Log()
        stage.pipeline.load(request, on: stage.queue.callbackQueue) { _, result in
            log.add((try? result.get().source.rawValue) ?? "failed")
        }
        #expect(log.lines == [])
        #expect(stage.queue.count == 1)
        stage.queue.runAll()
        #expect(log.lines == ["memory"])
        #expect(try await stage.pipeline.image(for: request).source == .memory)
        #expect(stage.transport.startCount == 1)
        #expect(stage.codec.decodes.count == 1)
    }

    @Test("An event stream starts no transfer before its first event is requested")
    func stream() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let events = stage.pipeline.events(for: ImageRequest(Stage.url))
        #expect(stage.transport.startCount == 0)
        var iterator = events.makeAsyncIterator()
        _ = await iterator.next()
        #expect(stage.transport.startCount == 1)
    }
}
