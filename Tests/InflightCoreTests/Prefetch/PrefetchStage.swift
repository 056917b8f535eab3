import InflightConcurrency
import InflightCore
import InflightTestSupport

/// A prefetcher over a scripted transport; the test runs its turns and callbacks.
final class PrefetchStage: Sendable {
    let stage: Stage
    let decodes: ManualExecutor
    let turns = ManualQueue()

    init(change: (inout ImagePipeline.Configuration) -> Void = { _ in }) throws {
        let decodes = ManualExecutor()
        stage = try Stage {
            $0.decodeExecutor = decodes
            change(&$0)
        }
        self.decodes = decodes
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
    }

    var transport: ScriptedTransport { stage.transport }

    func prefetcher(_ destination: Prefetcher.Destination = .memory, limit: Int = 4) -> Prefetcher {
        Prefetcher(
            pipeline: stage.pipeline, destination: destination, turn: .queue(turns.callbackQueue), limit: limit,
            endings: stage.queue.callbackQueue)
    }

    func finish() {
        repeat {
            repeat { transport.finishAll() } while decodes.runAll() > 0
        } while turns.runAll() + stage.queue.runAll() > 0
    }
}
