import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Custom decode executor", .timeLimit(.minutes(10)))
struct DecodeExecutorTests {
    /// Holds work until the test runs it.
    private final class Kept: WorkExecutor {
        private let work = Guarded<[@Sendable () -> Void]>([])

        func run(_ work: @escaping @Sendable () -> Void) {
            self.work.withLock { $0.append(work) }
        }

        var count: Int { work.withLock { $0.count } }

        func runFirst() {
            let first = work.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            first?()
        }
    }

    @Test("A custom executor runs the decodes and receives no more than may run concurrently")
    func runsThere() throws {
        let kept = Kept()
        let stage = try Stage {
            $0.decodeExecutor = kept
            $0.decodeConcurrency = 1
        }
        let ended = Counter()
        for index in 0..<2 {
            let url = "http://a.example/\(index)"
            stage.transport.serve(url, .ok(FakeCodec.picture()))
            stage.pipeline.load(ImageRequest(url), on: stage.queue.callbackQueue) { _, result in
                if (try? result.get()) != nil { ended.add() }
            }
        }
        stage.transport.finishAll()
        #expect(kept.count == 1)
        #expect(stage.codec.decodes.count == 0)
        kept.runFirst()
        #expect(kept.count == 1)
        kept.runFirst()
        stage.queue.runAll()
        #expect(ended.count == 2)
    }
}
