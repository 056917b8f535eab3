import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 1: callbacks on the named queue", .timeLimit(.minutes(10)))
struct Contract1Tests {
    private static let mark = DispatchSpecificKey<String>()

    private func marked(_ attributes: DispatchQueue.Attributes) -> DispatchQueue {
        let queue = DispatchQueue(label: "callbacks", attributes: attributes)
        queue.setSpecific(key: Self.mark, value: "named")
        return queue
    }

    @Test("Progress and the ending run on the named dispatch queue, serial or concurrent", arguments: [false, true])
    func dispatchQueue(isConcurrent: Bool) async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture(padding: 100), chunks: [10]))
        let log = Log()
        let end = Promise<Bool>()
        stage.pipeline.load(ImageRequest(Stage.url), on: .queue(marked(isConcurrent ? .concurrent : []))) { _, _ in
            log.add(DispatchQueue.getSpecific(key: Self.mark) ?? "another")
        } completion: { _, result in
            log.add(DispatchQueue.getSpecific(key: Self.mark) ?? "another")
            end.set((try? result.get()) != nil)
        }
        #expect(try await end.value)
        #expect(Set(log.lines) == ["named"])
        #expect(log.lines.count >= 2)
    }

    @Test("Main-actor callbacks run on the main queue")
    func mainQueue() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture(padding: 100), chunks: [10]))
        let end = Promise<Bool>()
        stage.pipeline.load(ImageRequest(Stage.url), on: .main) { _, _ in
            dispatchPrecondition(condition: .onQueue(.main))
        } completion: { _, result in
            dispatchPrecondition(condition: .onQueue(.main))
            end.set((try? result.get()) != nil)
        }
        #expect(try await end.value)
    }

    @Test("Callbacks on an executor run only when the executor runs them")
    func executor() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .ok(Bytes("body"), chunks: [1]))
        let log = Log()
        let queue = stage.queue
        stage.pipeline.loadResponse(ImageRequest(Stage.url), on: queue.callbackQueue) { _, _ in
            log.add("progress \(queue.isCurrent)")
        } completion: { _, result in
            log.add("\(result.shown) \(queue.isCurrent)")
        }
        stage.transport.finish(Stage.url)
        #expect(log.lines == [])
        queue.runAll()
        #expect(log.lines == ["progress true", "body true"])
    }

    @Test("Immediate errors are delivered on the callback queue", arguments: ["no URL", "gopher://a.example/"])
    func earlyErrors(url: String) throws {
        let stage = try Stage()
        let log = Log()
        stage.load(url, log: log)
        #expect(log.lines == [])
        stage.queue.runAll()
        #expect(log.lines == [url == "no URL" ? "end: invalidURL" : "end: unsupportedScheme"])
    }
}
