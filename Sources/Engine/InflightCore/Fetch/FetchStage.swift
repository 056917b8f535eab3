import InflightConcurrency

/// The parts that the fetches of a pipeline share: transports, the store, retries, hooks, and the limits of bodies.
final class FetchStage: Sendable {
    let scheduler: Scheduler
    let images: CachedImages
    let storage: ResponseStorage
    let decoding: DecodeStage
    let codecs: CodecRegistry
    let workers: any WorkExecutor
    let transports: TransportTable
    let fieldsExcludedFromKey: Set<String>
    let willSend: (@Sendable (inout ImagePipeline.OutgoingRequest) async throws -> Void)?
    let didReceive: (@Sendable (ImagePipeline.ReceivedHead) async throws -> ImagePipeline.HeadDecision)?
    /// The executor of hooks and sources.
    let taskExecutor: (any TaskExecutor)?
    let codings: AcceptedCodings
    /// The header fields that are sent by default.
    let defaultFields: HTTPFields
    /// If nil, no request is repeated.
    let retries: RetryController?
    let rates: RateChecker
    /// The memory held by bodies in flight. Its lock is taken inside the locks of fetches, never the other way round.
    let bodies: Guarded<BodyBudget>
    let bodyLimit: Int64
    let turns: BodyProcessingQueue
    let temporaryFolder: String?

    init(_ configuration: ImagePipeline.Configuration, decoding: DecodeStage, transports: TransportTable) {
        self.decoding = decoding
        self.transports = transports
        scheduler = decoding.scheduler
        images = decoding.images
        storage = decoding.storage
        codecs = decoding.codecs
        workers = decoding.workers
        fieldsExcludedFromKey = images.fieldsExcludedFromKey
        willSend = configuration.willSend
        didReceive = configuration.didReceive
        taskExecutor = configuration.taskExecutor
        codings = AcceptedCodings(configuration.contentCodings)
        var defaultFields = HTTPFields([("Accept", "image/*,*/*;q=0.8")])
        if let accepted = codings.accepted { defaultFields.append("Accept-Encoding", accepted) }
        self.defaultFields = defaultFields
        retries = configuration.retry.map {
            RetryController($0, clock: configuration.clock, random: configuration.random)
        }
        rates = RateChecker(clock: configuration.clock)
        bodyLimit = configuration.maximumBodyBytesInFlight
        bodies = Guarded(BodyBudget(limit: bodyLimit, transfers: configuration.maximumConcurrentFetches))
        turns = BodyProcessingQueue(executor: workers)
        temporaryFolder = configuration.temporaryFolder
    }
}
