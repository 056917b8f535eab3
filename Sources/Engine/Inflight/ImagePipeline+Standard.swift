internal import InflightCodecs
internal import InflightCodings
internal import InflightConcurrency
public import InflightCore
public import InflightCurl
public import InflightDisk
public import InflightWorker

extension ImagePipeline.Configuration {
    /// The defaults: HTTP by libcurl, local files, `data:` URLs; JPEG, PNG, WebP and GIF by their own libraries,
    /// BMP and ICO by ours; AVIF, HEIC, JPEG XL and TIFF in decoders' processes, where `inflight-decoder` is installed.
    ///
    /// - Parameter curl: what the HTTP transport needs to know, such as a CA file. How many connections it may open to
    ///   an origin follows ``ImagePipeline/Configuration/maximumConcurrentFetchesPerOrigin``.
    /// - Parameter cache: the folder in which answers are kept beyond the life of the process; `nil`: nothing is.
    /// - Parameter decoding: which pictures are decoded in processes of their own, which a stranger's bytes cannot leave.
    /// - Parameter decoder: those processes; none is started before a picture needs it.
    public init(
        curl: CurlTransport.Configuration = .init(), cache: DiskStore.Configuration? = nil,
        decoding: DecodeIsolation = .auto, decoder: DecoderConfiguration = .init()
    ) {
        self.init(
            transports: [
                .owned { configuration throws(LoadError) in
                    var curl = curl
                    curl.maximumConnectionsPerOrigin = configuration.maximumConcurrentFetchesPerOrigin
                    curl.maximumStreamsPerConnection = configuration.maximumStreamsPerOrigin
                    return try CurlTransport(configuration: curl)
                },
                .owned { _ in FileTransport() },
                .owned { _ in DataURLTransport() },
            ],
            codecs: .standard(decoding, decoder))
        contentCodings = ContentCodings.standard
        retry = RetryPolicy()
        circuitBreaker = ImagePipeline.CircuitBreaker()
        maximumConcurrentFetches = min(maximumConcurrentFetches, DescriptorLimit.connections)
        decodeConcurrency = min(decodeConcurrency, DescriptorLimit.decoders)
        if let cache {
            store = .owned { configuration throws(LoadError) in
                try cache.check()
                var cache = cache
                cache.clock = configuration.clock
                return DiskStore(cache)
            }
        }
    }
}

extension CodecRegistry {
    /// The codecs of the defaults: JPEG, PNG, WebP, GIF, BMP and ICO, in the program or in processes of their own; AVIF,
    /// HEIC, JPEG XL, TIFF and SVG, in processes of their own or not at all.
    public static func standard(
        _ decoding: DecodeIsolation = .auto, _ decoder: DecoderConfiguration = .init()
    ) -> CodecRegistry {
        var own: [any ImageCodec] = Codecs.standard
        let protections = ProtectionCheck(decoder)
        if decoding == .worker {
            let pool = DecoderPool(decoder, suffix: "", protections: protections)
            own = own.map { WorkerCodec($0, pool: pool) }
        }
        // A program of its own: what these formats need is large, and slow to start.
        let pool = decoding == .inProcess ? nil : DecoderPool(decoder, suffix: "-vips", protections: protections)
        return CodecRegistry(own + [IsolatedFormatsCodec(pool: pool, drawsSVG: decoder.drawsSVG)])
    }
}

extension ImagePipeline {
    /// A pipeline with the defaults, made when it is used first, for programs that need no other.
    public static let shared: ImagePipeline = {
        do {
            return try ImagePipeline(configuration: .init())
        } catch {
            // The defaults name no file that could be missing.
            preconditionFailure("the standard pipeline cannot be made: \(error)")
        }
    }()
}
