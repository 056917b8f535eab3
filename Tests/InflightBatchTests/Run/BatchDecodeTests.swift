import Dispatch
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Decodes of batch runs", .timeLimit(.minutes(5)))
struct BatchDecodeTests {
    private let world: BatchWorld

    init() throws { world = try BatchWorld() }

    private func configuration(images count: Int) throws -> BatchConfiguration {
        for index in 0..<count { world.serveImage("/\(index)", width: 32, seed: index) }
        var configuration = try world.configuration((0..<count).map { world.server.url("/\($0)") })
        configuration.rows.imageThreads = count
        configuration.rows.schedule.queue.pacer.ceiling = count
        configuration.rows.schedule.queue.pacer.initialLimit = count
        return configuration
    }

    @Test("Decodes that do not fit into the engine's memory together run one after the other")
    func memory() async throws {
        let configuration = try configuration(images: 4)
        let (running, most) = (Guarded(0), Guarded(0))
        let (estimates, allEstimated) = (Guarded(0), DispatchSemaphore(value: 0))
        var codec = try WatchedCodec(.png, of: BatchWorld.codecs)
        codec.memory = 1 << 20
        // Each decode continues when all images have a thread: without a common limit, they would run at once.
        codec.onEstimate = {
            let count = estimates.withLock { count in
                count += 1
                return count
            }
            if count == 4 { for _ in 0..<4 { allEstimated.signal() } }
        }
        codec.onDecode = {
            let now = running.withLock { count in
                count += 1
                return count
            }
            most.withLock { $0 = max($0, now) }
            allEstimated.wait()
            running.withLock { $0 -= 1 }
        }
        let ending = try await world.run(
            configuration,
            change: { [codec] in
                $0.codecs = CodecRegistry([codec])
                $0.maximumDecodeMemory = 3 << 19
            })
        #expect(ending.isFinished && world.ends == ["success": 4])
        #expect(most.withLock(\.self) == 1)
    }

    @Test("An image that can never fit into the engine's memory fails with its class")
    func refusal() async throws {
        var codec = try WatchedCodec(.png, of: BatchWorld.codecs)
        codec.memory = 1 << 20
        let ending = try await world.run(
            try configuration(images: 2),
            change: { [codec] in
                $0.codecs = CodecRegistry([codec])
                $0.maximumDecodeMemory = 1 << 19
            })
        #expect(ending.isFinished && world.ends == ["tooMuchMemory": 2])
    }

    @Test("A decode that exceeds the engine's time limit fails for good, and the run continues")
    func timeLimit() async throws {
        let configuration = try configuration(images: 3)
        let clock = VirtualClock()
        let count = Guarded(0)
        var codec = try WatchedCodec(.png, of: BatchWorld.codecs)
        codec.onDecode = {
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { clock.advance(by: .seconds(7)) }
        }
        // One thread, so that the others are decoded later.
        var single = configuration
        single.rows.imageThreads = 1
        let ending = try await world.run(
            single,
            change: { [codec] in
                $0.codecs = CodecRegistry([codec])
                $0.clock = clock
                $0.maximumDecodeTime = .seconds(7)
            })
        #expect(ending.isFinished && world.ends == ["success": 2, "decode_timeout": 1])
        #expect(!FailureClasses.isTransient("decode_timeout"))
        #expect(try world.rows(of: 0, configuration).count { $0.contains("failed_to_resize") } == 1)
    }
}
