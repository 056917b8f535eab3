import Dispatch
import Inflight
import InflightConcurrency
import Testing

@Suite("Callbacks with responses", .timeLimit(.minutes(10)))
struct ResponseCallbackTests {
    @Test("Responses are delivered on a dispatch queue and on the main queue")
    func queues() async throws {
        let pipeline = try ImagePipeline(configuration: .init())
        let queue = DispatchQueue(label: "callbacks")
        await Bridge.wait { done in
            pipeline.loadResponse("data:text/plain,cat", on: queue) { _, result in
                dispatchPrecondition(condition: .onQueue(queue))
                #expect((try? result.get().body.count) == 3)
                done.open()
            }
        }
        await Bridge.wait { done in
            pipeline.loadResponse("data:text/plain,cat", on: .main) { _, result in
                MainActor.assertIsolated()
                #expect((try? result.get().body.count) == 3)
                done.open()
            }
        }
        await pipeline.shutdown(.finish)
    }
}
