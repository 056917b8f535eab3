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
    let tasks = 24
    /// Every so many steps somebody asks for something.
    let asksEvery = 10
    let steps = 240

    init(seed: UInt64) {
        var draws = Draws(seed ^ 0x1F15_47BE_9B4C_3D27)
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
        bounds.isOrderKnown = !nests && !isSlow && !hasHarmless && !isMultiplexed
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
        configuration.decodeExecutor = world.threads
        configuration.order = bounds.isLastInFirstOut ? .lastInFirstOut : .firstInFirstOut
        if hasHarmless { configuration.harmlessFields = ["Accept-Language"] }
        return configuration
    }
}
