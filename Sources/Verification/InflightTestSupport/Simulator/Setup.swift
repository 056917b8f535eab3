internal import InflightContract
internal import InflightCore

/// What a seed's world is like.
struct Setup {
    var bounds = Bounds()
    /// Things happen on other threads while code of the caller runs.
    var nests = false
    var hasHarmless = false
    var hasHuge = false
    var isMultiplexed = false
    /// Time goes in seconds, not in milliseconds.
    var isSlow = false
    var totalTime: Int64 = 8_000_000
    var ownsTransport = false
    var hasWillSend = false
    var hasDidReceive = false
    var hasLog = false
    var hasFallbacks = false
    /// There is a store, and what servers answer may be kept.
    var hasStore = false
    var hasRetries = false
    /// By loader, the queue that it lives on.
    var loaderQueues: [Int] = []
    var prefetch: Prefetch?
    /// Somebody listens to the pipeline.
    var listens = false
    /// Some of those who ask want to see what there is.
    var hasPreviews = false

    struct Prefetch {
        var isIntoMemory: Bool
        /// The queue whose turns count, or -1 where time does.
        var turnQueue: Int
        var limit: Int
        /// How many bodies may be kept.
        var room: Int
    }

    /// What may be asked for.
    var resources: [UInt8] = [0, 1, 2, 3, 4, 5, 6]
    let tasks = 24
    /// Every so many steps somebody asks for something.
    let asksEvery = 10
    let steps = 240

    init(seed: UInt64) {
        var draws = Draws(seed ^ 0x1F15_47BE_9B4C_3D27)
        // Not drawn: other worlds stay as they are.
        listens = seed % 8 == 3
        bounds.fetches = 1 + draws.below(5)
        bounds.fetchesPerOrigin = 1 + draws.below(3)
        bounds.streamsPerOrigin = bounds.fetchesPerOrigin + draws.below(3)
        bounds.decodes = 1 + draws.below(2)
        bounds.reserved = bounds.fetches / 4
        bounds.isLastInFirstOut = draws.once(in: 4)
        bounds.keepsPictures = !draws.once(in: 3)
        nests = draws.once(in: 2)
        hasHarmless = draws.once(in: 4)
        // Those who leave a varying answer ask anew one after the other: what happens between two of them is not told.
        if hasHarmless { nests = false }
        hasHuge = draws.once(in: 6)
        isMultiplexed = draws.once(in: 6)
        // Where answers vary, the model has to know whose turn it is.
        isSlow = !hasHarmless && draws.once(in: 6)
        if isSlow { totalTime = 8_000_000_000 }
        ownsTransport = draws.once(in: 2)
        hasDidReceive = draws.once(in: 3)
        hasLog = draws.once(in: 3)
        hasFallbacks = hasLog && !draws.once(in: 4)
        // Where answers vary the model has to see which exchange was started for whom.
        hasWillSend = !hasHarmless && draws.once(in: 3)
        let hasSources = !hasHarmless && draws.once(in: 3)
        choose(hasSources: hasSources, &draws)
        for queue in [0, 2, 3] where draws.once(in: 3) { loaderQueues.append(queue) }
        // In which order endings are told is foretold only where nothing is nested.
        if !nests, draws.once(in: 2) {
            prefetch = Prefetch(
                isIntoMemory: draws.once(in: 2), turnQueue: [-1, 0, 2, 3][draws.below(4)], limit: 1 + draws.below(3),
                room: draws.below(3))
        }
        if draws.once(in: 3) { makeStored(hasSources: hasSources, &draws) }
        // Not drawn either.
        if seed % 8 == 6, !hasStore { makeBreaking(seed) }
        if seed % 8 == 7 { bounds.maximumTasks = 2 + Int(seed / 8 % 8) }
        hasPreviews = seed % 8 == 5
        if seed % 4 == 2 { bounds.bodyBytes = Int64(seed / 4 % 80) }
        if hasPreviews { bounds.decodesInMemory = 1 }
        bounds.isFlat = !nests
        // Those who leave a varying answer join the next one after the other.
        bounds.isPriorityKnown = !nests && !hasHarmless
        bounds.asksBefore = hasWillSend
        bounds.startsAreHidden = hasWillSend || hasSources
        bounds.isLogged = hasLog
        bounds.isOrderKnown = !nests && !isSlow && !hasHarmless && !isMultiplexed && !bounds.startsAreHidden
        // What is sent at the end of a turn is told at once.
        if prefetch != nil, bounds.isLastInFirstOut { bounds.isOrderKnown = false }
        // Look-ups take as long as they like, and seconds pass.
        if hasStore { bounds.isOrderKnown = false }
    }

    /// A world with a store: nothing in it is nested, so that the model can foretell what becomes of everything stored.
    private mutating func makeStored(hasSources: Bool, _ draws: inout Draws) {
        hasStore = true
        hasRetries = draws.once(in: 2)
        bounds.hasStore = true
        bounds.retries = hasRetries ? 2 : 0
        (nests, hasHarmless, hasWillSend, hasDidReceive, isSlow) = (false, false, false, false, false)
        bounds.isLastInFirstOut = false
        totalTime = 0
        prefetch = nil
        // Fewer things, so that what is stored is asked for again.
        resources = Array(resources.prefix(4)) + [4, 5]
        resources += hasSources ? [Resources.bytesSource] : []
        for other in [Resources.header, Resources.identified, 13] where draws.once(in: 2) { resources.append(other) }
    }

    /// A world whose origins often cannot be reached. Nothing in it is nested or hidden, so that the model can foretell
    /// which fetches are refused.
    private mutating func makeBreaking(_ seed: UInt64) {
        bounds.failuresToOpen = 2
        (bounds.firstBackoff, bounds.maximumBackoff) = (8_000_000, 40_000_000)
        bounds.waitsWhileOpen = seed & 8 != 0
        (nests, hasHarmless, hasWillSend, isSlow, hasFallbacks) = (false, false, false, false, false)
        totalTime = 8_000_000
        prefetch = nil
        resources = [0, 1, 2, 3, 4, 5, 6]
    }

    /// What a caller of a world with a store wants of it.
    static func policy(_ draws: inout Draws) -> CachePolicy {
        switch draws.below(12) {
        case 0: .refresh
        case 1: .onlyCached
        case 2: .preferCached
        case 3: .noStore
        case 4: .reload
        default: .obey
        }
    }

    /// As many things in every world, so that much is shared.
    private mutating func choose(hasSources: Bool, _ draws: inout Draws) {
        if draws.once(in: 3) { return }
        var others: [UInt8] = [Resources.identified, 9, 13]
        if hasFallbacks { others.append(Resources.refusedAtFirst) }
        if hasSources { others.append(Resources.bytesSource) }
        // Whether a picture that needs no decoder is ready only the log says.
        if hasSources, hasLog { others.append(Resources.pictureSource) }
        for other in others where draws.once(in: 2) || other == Resources.bytesSource {
            resources[draws.below(resources.count)] = other
        }
    }

    func configuration(_ world: World, codec: any ImageCodec) -> ImagePipeline.Configuration {
        let transport = world.transport!
        var configuration = ImagePipeline.Configuration(
            transports: [ownsTransport ? .owned { _ in transport } : .shared(transport)],
            codecs: CodecRegistry([codec]))
        configuration.clock = world.clock
        configuration.memoryCache = MemoryCacheConfiguration(
            limit: bounds.keepsPictures ? 1 << 20 : 0, reactsToMemoryPressure: false)
        configuration.maximumConcurrentFetches = bounds.fetches
        configuration.maximumConcurrentFetchesPerOrigin = bounds.fetchesPerOrigin
        configuration.maximumStreamsPerOrigin = bounds.streamsPerOrigin
        configuration.decodeConcurrency = bounds.decodes
        // Not told of by the model: a timer more for each decode would change nothing but what the dice say.
        configuration.maximumDecodeTime = nil
        // So much that the usual estimate of two pictures does not fit.
        if bounds.decodesInMemory == 1 { configuration.maximumDecodeMemory = 100_000 }
        configuration.decodeExecutor = world.threads
        if let limit = bounds.bodyBytes { configuration.maximumBodyBytesInFlight = limit }
        configuration.order = bounds.isLastInFirstOut ? .lastInFirstOut : .firstInFirstOut
        if hasHarmless { configuration.harmlessFields = ["Accept-Language"] }
        configuration.taskExecutor = world.executor
        if hasStore { configuration.harmlessFields = ["X-Policy"] }
        if let store = world.store { configuration.store = ownsTransport ? .owned { _ in store } : .shared(store) }
        if bounds.failuresToOpen > 0 {
            var breaker = ImagePipeline.CircuitBreaker()
            breaker.failuresToOpen = bounds.failuresToOpen
            breaker.firstBackoff = .nanoseconds(bounds.firstBackoff)
            breaker.maximumBackoff = .nanoseconds(bounds.maximumBackoff)
            breaker.whileOpen = bounds.waitsWhileOpen ? .wait : .fail
            configuration.circuitBreaker = breaker
            configuration.random = { 1 }
        }
        if bounds.maximumTasks < .max { configuration.maximumQueuedTasks = bounds.maximumTasks }
        if hasRetries {
            var retry = RetryPolicy()
            // Chance is the seed's alone: no wait but what a server asks for.
            retry.firstDelay = .zero
            // What is remembered is seen only by what is not sent.
            retry.longestMemory = .zero
            configuration.retry = retry
        }
        if hasWillSend { configuration.willSend = { [unowned world] in try await world.willSend(&$0) } }
        if hasDidReceive { configuration.didReceive = { [unowned world] in try await world.didReceive($0) } }
        if hasLog { configuration.log = { [unowned world] in world.log($0) } }
        if let listener = world.listener { configuration.listening = listener.listening }
        return configuration
    }
}
