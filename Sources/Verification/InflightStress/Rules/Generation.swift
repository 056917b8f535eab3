import InflightConcurrency
import InflightCore
import InflightTestSupport

/// One pipeline, from its creation until its shutdown and the check for leftovers.
final class Generation: Sendable {
    let pipeline: ImagePipeline
    let itemServer: ItemServer
    private let transports: [ScriptedTransport]
    private let meter = WorkMeter()
    private let log: ViolationLog
    private let mode = Guarded<ImagePipeline.ShutdownMode?>(nil)

    private static let maximumConcurrentFetches = 12
    private static let decodeConcurrency = 2

    init(_ itemServer: ItemServer, _ log: ViolationLog) throws(LoadError) {
        self.itemServer = itemServer
        self.log = log
        let (sources, transports) = itemServer.makeTransports()
        self.transports = transports
        var configuration = ImagePipeline.Configuration(
            transports: sources, codecs: CodecRegistry([StampCodec(meter: meter)]))
        configuration.maximumConcurrentFetches = Self.maximumConcurrentFetches
        configuration.maximumConcurrentFetchesPerOrigin = 6
        configuration.decodeConcurrency = Self.decodeConcurrency
        configuration.fieldsExcludedFromKey = [Item.field]
        // About thirty small images of the minimum cost, so that stored images are often requested and often evicted.
        configuration.memoryCache = MemoryCacheConfiguration(limit: 30 * 1056, reactsToMemoryPressure: false)
        // Most repeated requests find a stale response, which is then revalidated.
        configuration.store = .owned { _ in MemoryStore() }
        pipeline = try ImagePipeline(configuration: configuration)
    }

    /// Whether the pipeline's shutdown has begun.
    var isEnding: Bool { mode.withLock { $0 != nil } }

    /// Returns whether a load may fail because of the shutdown.
    func mayShutDown(takenBefore wasTaken: Bool) -> Bool {
        mode.withLock { mode in mode == .cancel || (mode == .finish && !wasTaken) }
    }

    /// Shuts the pipeline down, and checks that no work is left.
    func end(_ mode: ImagePipeline.ShutdownMode) async {
        self.mode.withLock { $0 = mode }
        await pipeline.shutdown(mode)
        let statistics = pipeline.statistics
        if statistics.jobsInFlight != 0 || statistics.tasksInFlight != 0 {
            log.violation(10, "after its shutdown (\(mode)) a pipeline has work in flight: \(statistics)")
        }
        if meter.maximum > Self.decodeConcurrency {
            log.violation(11, "\(meter.maximum) concurrent decodes; the limit is \(Self.decodeConcurrency)")
        }
        for transport in transports {
            if transport.liveCount != 0 { log.violation(10, "an exchange is live after the shutdown") }
            if transport.maximumLiveCount > Self.maximumConcurrentFetches {
                log.violation(
                    11, "\(transport.maximumLiveCount) concurrent exchanges; limit \(Self.maximumConcurrentFetches)"
                )
            }
            for text in transport.violations { log.violation(7, "violation of the transport's contract: \(text)") }
        }
    }
}
