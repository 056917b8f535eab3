import Glibc
import Inflight
import InflightCore
import InflightCurl

/// Makes the engine as the command needs it.
enum PipelineMaker {
    /// - Throws: ``LoadError/Code/cannotRead`` for a CA file that cannot be read.
    static func pipeline(
        _ options: NetworkOptions, concurrency: Int, perHost: Int, decodes: Bool, store: (any ResponseStore)? = nil,
        retries: Int = 0, circuitBreaker: Int = 5, listening: PipelineListening? = nil
    ) throws(LoadError) -> ImagePipeline {
        var curl = CurlTransport.Configuration()
        curl.caFile = options.certificateFile
        if options.connectsToPublicOnly { curl.addressPolicy = .publicOnly }
        var decoder = DecoderConfiguration()
        decoder.drawsSVG = options.drawsSVG
        var configuration = ImagePipeline.Configuration(curl: curl, decoding: options.decoding, decoder: decoder)
        configuration.maximumConcurrentFetches = concurrency
        configuration.maximumConcurrentFetchesPerOrigin = perHost
        // Two threads write and encode beside those that decode.
        configuration.decodeConcurrency = decodes ? max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) : 1
        configuration.store = store.map { .shared($0) }
        configuration.retry?.extraTries = retries
        if circuitBreaker > 0 {
            configuration.circuitBreaker?.failuresToOpen = circuitBreaker
        } else {
            configuration.circuitBreaker = nil
        }
        configuration.listening = listening
        // Each picture is asked for once, so none is worth keeping.
        configuration.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        return try ImagePipeline(configuration: configuration)
    }
}
