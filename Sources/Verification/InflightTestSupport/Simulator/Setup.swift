internal import InflightContract
internal import InflightCore

/// The properties of a seed's world.
struct Setup {
    var bounds = Bounds()
    /// Whether other threads run while the caller's code runs.
    var nests = false
    var hasExcludedFields = false
    var hasHuge = false
    var isMultiplexed = false
    /// Whether time passes in seconds instead of milliseconds.
    var isSlow = false
    /// The total time of a fetch in nanoseconds, from which those of the callers are derived; 0 for none.
    var totalTime: Int64 = 8_000_000
    var ownsTransport = false
    var hasWillSend = false
    var hasDidReceive = false
    var hasLog = false
    var hasFallbacks = false
    /// Whether there is a store, and responses may be stored.
    var hasStore = false
    var hasRetries = false
    /// The queue of each loader.
    var loaderQueues: [Int] = []
    var prefetch: Prefetch?
    /// Whether the pipeline has an observer.
    var hasObserver = false
    /// Whether some callers request previews.
    var hasPreviews = false
    /// Whether some requests name their order.
    var mixesOrders = false
    /// Whether some requests have a deadline.
    var hasDeadlines = false

    struct Prefetch {
        var isIntoMemory: Bool
        /// The queue whose turns count, or -1 if turns are measured in time.
        var turnQueue: Int
        var limit: Int
        /// The maximum number of stored bodies.
        var room: Int
    }

    /// The resources that may be requested.
    var resources: [UInt8] = [0, 1, 2, 3, 4, 5, 6]
    let tasks = 24
    /// The number of steps after which a caller sends a request.
    let requestInterval = 10
    let steps = 240

    init(seed: UInt64) {
        var draws = Draws(seed ^ 0x1F15_47BE_9B4C_3D27)
        // Derived from the seed without a draw, so that other worlds stay the same.
        hasObserver = seed % 8 == 3
        bounds.fetches = 1 + draws.below(5)
        bounds.fetchesPerOrigin = 1 + draws.below(3)
        bounds.streamsPerOrigin = bounds.fetchesPerOrigin + draws.below(3)
        bounds.decodes = 1 + draws.below(2)
        if draws.once(in: 4) { bounds.order = .lastInFirstOut }
        bounds.storesImages = !draws.once(in: 3)
        nests = draws.once(in: 2)
        hasExcludedFields = draws.once(in: 4)
        // Tasks that leave a varying response join again one after the other, with no events reported in between.
        if hasExcludedFields { nests = false }
        hasHuge = draws.once(in: 6)
        isMultiplexed = draws.once(in: 6)
        // If responses vary, the model has to know which job is next.
        isSlow = !hasExcludedFields && draws.once(in: 6)
        if isSlow { totalTime = 8_000_000_000 }
        ownsTransport = draws.once(in: 2)
        hasDidReceive = draws.once(in: 3)
        hasLog = draws.once(in: 3)
        hasFallbacks = hasLog && !draws.once(in: 4)
        // If responses vary, the model has to see for which job an exchange was started.
        hasWillSend = !hasExcludedFields && draws.once(in: 3)
        let hasSources = !hasExcludedFields && draws.once(in: 3)
        choose(hasSources: hasSources, &draws)
        for queue in [0, 2, 3] where draws.once(in: 3) { loaderQueues.append(queue) }
        // The order in which endings are delivered is predictable only if nothing is nested.
        if !nests, draws.once(in: 2) {
            prefetch = Prefetch(
                isIntoMemory: draws.once(in: 2), turnQueue: [-1, 0, 2, 3][draws.below(4)], limit: 1 + draws.below(3),
                room: draws.below(3))
        }
        if draws.once(in: 3) { makeStored(hasSources: hasSources, &draws) }
        // Derived without a draw, as above.
        if seed % 8 == 6, !hasStore { makeBreaking(seed) }
        if seed % 8 == 7 { bounds.maximumTasks = 2 + Int(seed / 8 % 8) }
        if seed % 16 == 15 { bounds.maximumTasksPerOrigin = 1 + Int(seed / 16 % 4) }
        hasPreviews = seed % 8 == 5
        // With a store, loads are raised while they wait, and the model does not see which one was first.
        mixesOrders = seed % 3 == 1 && !hasStore
        // Tasks that leave a varying response join another job one after the other.
        hasDeadlines = seed % 8 == 1 && !hasExcludedFields
        // Before `willSend` is called, nothing shows whether a fetch has its slot, and so its time passes. Deadlines
        // and total times that pass at once would be told apart by the order of two timers.
        if hasWillSend || hasDeadlines { totalTime = 0 }
        if seed % 4 == 2 { bounds.bodyBytes = Int64(seed / 4 % 80) }
        if hasPreviews { bounds.decodesInMemory = 1 }
        bounds.isFlat = !nests
        // Tasks that leave a varying response join the next job one after the other.
        bounds.isPriorityKnown = !nests && !hasExcludedFields
        bounds.callsWillSend = hasWillSend
        bounds.startsAreHidden = hasWillSend || hasSources
        bounds.isLogged = hasLog
        bounds.isOrderKnown = !nests && !isSlow && !hasExcludedFields && !isMultiplexed && !bounds.startsAreHidden
        // Loads that start at the end of a turn are all reported at once.
        if prefetch != nil, bounds.order == .lastInFirstOut { bounds.isOrderKnown = false }
        // Lookups take any time, and time passes in seconds, so the order is unpredictable.
        if hasStore { bounds.isOrderKnown = false }
    }

    /// Sets up a world with a store. Nothing is nested, so that the model can predict the state of all copies.
    private mutating func makeStored(hasSources: Bool, _ draws: inout Draws) {
        hasStore = true
        hasRetries = draws.once(in: 2)
        bounds.hasStore = true
        bounds.retries = hasRetries ? 2 : 0
        (nests, hasExcludedFields, hasWillSend, hasDidReceive, isSlow) = (false, false, false, false, false)
        bounds.order = .firstInFirstOut
        totalTime = 0
        prefetch = nil
        // Fewer resources, so that stored ones are requested again.
        resources = Array(resources.prefix(4)) + [4, 5]
        resources += hasSources ? [Resources.bytesSource] : []
        for other in [Resources.header, Resources.identified, 13] where draws.once(in: 2) { resources.append(other) }
    }

    /// Sets up a world whose origins are often unreachable. Nothing in it is nested or hidden, so that the model can
    /// predict which fetches are refused.
    private mutating func makeBreaking(_ seed: UInt64) {
        bounds.failuresToOpen = 2
        (bounds.firstBackoff, bounds.maximumBackoff) = (8_000_000, 40_000_000)
        bounds.waitsWhileOpen = seed & 8 != 0
        (nests, hasExcludedFields, hasWillSend, isSlow, hasFallbacks) = (false, false, false, false, false)
        totalTime = 8_000_000
        prefetch = nil
        resources = [0, 1, 2, 3, 4, 5, 6]
    }

    /// Returns the time from a call to its deadline in nanoseconds, by the number of its caller; 0 for no deadline. No
    /// other timer is due at the same nanosecond.
    func timeLimit(ofCaller number: Int) -> Int64 {
        guard hasDeadlines, number % 3 != 0 else { return 0 }
        let unit: Int64 = hasStore ? 500_000_000 : isSlow ? 1_000_000_000 : 1_000_000
        return Int64(number * 7 % 13 + 1) * unit + Int64(number)
    }

    /// Returns the order that a caller's request names, if any.
    func order(ofCaller number: Int) -> ImagePipeline.LoadOrder? {
        guard mixesOrders else { return nil }
        return [.lastInFirstOut, nil, .firstInFirstOut, .lastInFirstOut, nil][number % 5]
    }

    /// Returns the total time of a caller in nanoseconds; 0 for none.
    func totalTime(ofCaller number: Int) -> Int64 {
        guard totalTime > 0, number % 3 != 0 else { return 0 }
        return totalTime * Int64(1 + number % 4) / 2 + Int64(number)
    }

    /// Returns the cache policy of a caller in a world with a store.
    static func policy(_ draws: inout Draws) -> ImageRequest.CachePolicy {
        switch draws.below(12) {
        case 0: .refresh
        case 1: .onlyCached
        case 2: .preferCached
        case 3: .noStore
        case 4: .reload
        default: .obey
        }
    }

    /// Chooses the resources. Their number is the same in every world, so that many requests are coalesced.
    private mutating func choose(hasSources: Bool, _ draws: inout Draws) {
        if draws.once(in: 3) { return }
        var others: [UInt8] = [Resources.identified, 9, 13]
        if hasFallbacks { others.append(Resources.refusedAtFirst) }
        if hasSources { others.append(Resources.bytesSource) }
        // Only the log reports when an image that needs no decoder is ready.
        if hasSources, hasLog { others.append(Resources.imageSource) }
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
            limit: bounds.storesImages ? 1 << 20 : 0, reactsToMemoryPressure: false)
        configuration.maximumConcurrentFetches = bounds.fetches
        configuration.maximumConcurrentFetchesPerOrigin = bounds.fetchesPerOrigin
        configuration.maximumStreamsPerOrigin = bounds.streamsPerOrigin
        configuration.decodeConcurrency = bounds.decodes
        // The model does not cover the decode time limit. A timer for each decode would only change the draws.
        configuration.maximumDecodeTime = nil
        // Too little memory for the default estimates of two images.
        if bounds.decodesInMemory == 1 { configuration.maximumDecodeMemory = 100_000 }
        configuration.decodeExecutor = world.threads
        if let limit = bounds.bodyBytes { configuration.maximumBodyBytesInFlight = limit }
        configuration.order = bounds.order
        if hasExcludedFields { configuration.fieldsExcludedFromKey = ["Accept-Language"] }
        configuration.taskExecutor = world.executor
        if hasStore { configuration.fieldsExcludedFromKey = ["X-Policy"] }
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
        if bounds.maximumTasksPerOrigin < .max {
            configuration.maximumQueuedTasksPerOrigin = bounds.maximumTasksPerOrigin
        }
        if hasRetries {
            var retry = RetryPolicy()
            // Only the seed may add randomness, so the only delay is that of `Retry-After`.
            retry.firstDelay = .zero
            // A memory of failures would be visible only through requests that are not sent.
            retry.maximumPauseMemory = .zero
            configuration.retry = retry
        }
        if hasWillSend { configuration.willSend = { [unowned world] in try await world.willSend(&$0) } }
        if hasDidReceive { configuration.didReceive = { [unowned world] in try await world.didReceive($0) } }
        if hasLog { configuration.log = { [unowned world] in world.log($0) } }
        if let observer = world.observer { configuration.observer = observer.observer }
        return configuration
    }
}
