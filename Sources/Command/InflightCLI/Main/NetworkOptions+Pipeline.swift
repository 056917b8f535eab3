import Inflight
import InflightConcurrency
import InflightCore
import InflightCurl

extension NetworkOptions {
    /// Creates the pipeline as the command needs it.
    ///
    /// - Throws: The reason why it cannot be created, such as a CA file that cannot be read.
    func pipeline(
        decodes: Bool, store: (any ResponseStore)? = nil, observer: ImagePipeline.Observation? = nil,
        log: HARLog? = nil,
        warn: @escaping @Sendable (String) -> Void = { StandardStream.error.say("inflight: \($0)\n") }
    ) throws(CommandLineTool.Refusal) -> ImagePipeline {
        var curl = CurlTransport.Configuration()
        curl.caFile = certificateFile
        if let userAgent { curl.userAgent = userAgent }
        if connectsToPublicOnly { curl.addressPolicy = .publicOnly }
        var configuration = ImagePipeline.Configuration(
            curl: curl, decoding: decoding, decoder: decoder(warn: warn))
        let connections = DescriptorLimit.connections
        configuration.maximumConcurrentFetches = min(concurrency, connections)
        configuration.maximumConcurrentFetchesPerOrigin = min(perHost, connections)
        configuration.maximumBodyBytesInFlight = maximumBytesInFlight
        // Two more threads write and encode beside those that decode.
        configuration.decodeConcurrency = decodes ? min(4, configuration.decodeConcurrency) : 1
        configuration.store = store.map { .shared($0) }
        configuration.retry?.maximumRetries = retries
        if circuitBreaker > 0 {
            configuration.circuitBreaker?.failuresToOpen = circuitBreaker
        } else {
            configuration.circuitBreaker = nil
        }
        configuration.observer = observer
        if let log { configuration.transports = configuration.transports.map { $0.logged(by: log) } }
        // Each image is requested once, so none is worth caching in memory.
        configuration.memoryCache = MemoryCacheConfiguration(limit: 0, reactsToMemoryPressure: false)
        do throws(LoadError) {
            return try ImagePipeline(configuration: configuration)
        } catch {
            throw CommandLineTool.Refusal(message: error.commandMessage, status: ExitStatus.noInput)
        }
    }

    /// - Parameter warn: Called at most once, with the protections that the system lacks.
    func decoder(warn: (@Sendable (String) -> Void)? = nil) -> DecoderConfiguration {
        var decoder = DecoderConfiguration()
        decoder.drawsSVG = drawsSVG
        decoder.requiredProtections = requiredProtections
        guard let warn, !isQuiet else { return decoder }
        decoder.missingProtectionsHandler = { missing in
            let names = missing.map(\.rawValue).sorted().joined(separator: ",")
            warn("Decoding without a protection that the system does not provide: \(names).")
        }
        return decoder
    }
}
