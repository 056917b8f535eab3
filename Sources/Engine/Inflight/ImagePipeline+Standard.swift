internal import InflightCodecs
internal import InflightCodings
internal import InflightConcurrency
public import InflightCore
public import InflightCurl
public import InflightDisk
public import InflightWorker

extension ImagePipeline.Configuration {
    /// Creates the standard configuration.
    ///
    /// It loads HTTP URLs by libcurl, local files and `data:` URLs. It decodes JPEG, PNG, WebP and GIF by their own
    /// libraries, BMP and ICO by Inflight, and AVIF, HEIC, JPEG XL and TIFF in decoder processes, if `inflight-decoder`
    /// is installed. Content codings are decoded, transient failures are retried, and a circuit breaker protects
    /// unreachable origins. If the process may open few files,
    /// ``ImagePipeline/Configuration/maximumConcurrentFetches`` and ``ImagePipeline/Configuration/decodeConcurrency``
    /// are lower than their defaults.
    ///
    /// - Parameters:
    ///   - curl: the configuration of the HTTP transport, such as a CA file. Its connections per origin follow
    ///     ``ImagePipeline/Configuration/maximumConcurrentFetchesPerOrigin``, and its streams per connection
    ///     ``ImagePipeline/Configuration/maximumStreamsPerOrigin``.
    ///   - cache: the disk cache, which keeps responses beyond the life of the process. If nil, there is none. It uses
    ///     the ``ImagePipeline/Configuration/clock`` of this configuration, and reports its events to the
    ///     ``ImagePipeline/Configuration/log`` too. If its limit is too small or its folder is a file, the creation of
    ///     the pipeline throws.
    ///   - decoding: which images are decoded in sandboxed processes, as protection against untrusted input.
    ///   - decoder: the configuration of these processes. None is started before an image needs it.
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
                .owned { FileTransport(clock: $0.clock) },
                .owned { DataURLTransport(clock: $0.clock) },
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
                if let log = configuration.log {
                    cache.onEvent = { [onEvent = cache.onEvent] event in
                        log(event.logEntry)
                        onEvent?(event)
                    }
                }
                return DiskStore(cache)
            }
        }
    }
}

extension ImagePipeline.Configuration {
    /// Creates the standard configuration with the limits of a server that loads URLs for its clients.
    ///
    /// - ``ImagePipeline/Configuration/schemes`` are `http` and `https`: `file:` would read this machine's files, and
    ///   tell whether a path exists.
    /// - Addresses are ``AddressPolicy/publicOnly``: a client could read from the server's own network.
    /// - ``ImagePipeline/Configuration/maximumDeadline`` and ``ImagePipeline/Configuration/maximumBodyBytes`` bound
    ///   every load, whatever its request says.
    /// - Beyond ``ImagePipeline/Configuration/maximumQueuedTasks`` a load fails at once, so that the server can respond
    ///   with status 503. A quarter of it is the limit of each origin
    ///   (``ImagePipeline/Configuration/maximumQueuedTasksPerOrigin``), so that a slow one leaves room for the others.
    ///
    /// All of them can be changed afterwards. Images are decoded in the program as in the standard configuration; pass
    /// `decoding: .worker` to decode all of them in sandboxed processes.
    ///
    /// - Parameters:
    ///   - deadline: the time from a call to its result.
    ///   - maximumBodyBytes: the maximum number of bytes of one body.
    ///   - maximumLoads: the maximum number of loads in progress, queued and running.
    ///   - cache: the disk cache; if nil, there is none.
    ///   - decoding: which images are decoded in sandboxed processes.
    /// - Returns: the configuration.
    public static func forServers(
        deadline: Duration = .seconds(10), maximumBodyBytes: Int64 = 20_000_000, maximumLoads: Int = 1000,
        cache: DiskStore.Configuration? = nil, decoding: DecodeIsolation = .auto
    ) -> Self {
        var curl = CurlTransport.Configuration()
        curl.addressPolicy = .publicOnly
        var configuration = Self(curl: curl, cache: cache, decoding: decoding)
        configuration.schemes = ["http", "https"]
        configuration.maximumDeadline = deadline
        configuration.maximumBodyBytes = maximumBodyBytes
        configuration.maximumQueuedTasks = maximumLoads
        configuration.maximumQueuedTasksPerOrigin = max(1, maximumLoads / 4)
        return configuration
    }
}

extension DiskStore.Event {
    fileprivate var logEntry: ImagePipeline.LogEntry {
        switch self {
        case .unavailable(let error): .init(.error, "the disk cache cannot be used", [("error", error.message)])
        case .recovered: .init(.notice, "the disk cache can be used again")
        case .indexDiscarded(let lost):
            .init(
                .notice, "the damaged index of the disk cache was discarded",
                lost.map { [("entries", "\($0)")] } ?? [])
        case .entryQuarantined(let url, let reason):
            .init(.notice, "a damaged cache entry was removed", [("url", url ?? ""), ("because", reason)])
        }
    }
}

extension CodecRegistry {
    /// Returns the standard codecs: JPEG, PNG, WebP, GIF, BMP and ICO, in the program or in decoder processes; AVIF,
    /// HEIC, JPEG XL, TIFF and SVG, only in decoder processes.
    ///
    /// - Parameters:
    ///   - decoding: the process in which images are decoded.
    ///   - decoder: the configuration of the decoder processes. None is started before an image needs it.
    public static func standard(
        _ decoding: DecodeIsolation = .auto, _ decoder: DecoderConfiguration = .init()
    ) -> CodecRegistry {
        var own: [any ImageCodec] = Codecs.standard
        let protections = ProtectionCheck(decoder)
        if decoding == .worker {
            let pool = DecoderPool(decoder, suffix: "", protections: protections)
            own = own.map { WorkerCodec($0, pool: pool) }
        }
        // A separate program, because the libraries of these formats are large and slow to start.
        let pool = decoding == .inProcess ? nil : DecoderPool(decoder, suffix: "-vips", protections: protections)
        return CodecRegistry(own + [IsolatedFormatsCodec(pool: pool, drawsSVG: decoder.drawsSVG)])
    }
}

extension ImagePipeline {
    /// The default pipeline, for programs that need no other. Unless one was assigned, it is created on first use, with
    /// the standard configuration, which has no disk cache.
    ///
    /// ```swift
    /// ImagePipeline.shared = try ImagePipeline(configuration: .init(cache: .init(folder: folder)))
    /// ```
    ///
    /// Assign another one before its first use: loads, views and loaders that have the earlier one keep it.
    ///
    /// - Thread: any.
    public static var shared: ImagePipeline {
        get {
            current.withLock { current in
                if let current { return current }
                do {
                    let pipeline = try ImagePipeline(configuration: .init())
                    current = pipeline
                    return pipeline
                } catch {
                    // The defaults name no file that could be missing, so this cannot fail.
                    preconditionFailure("the standard pipeline cannot be created: \(error)")
                }
            }
        }
        set {
            // The earlier one is released with no lock held.
            let earlier = current.withLock { current in
                defer { current = newValue }
                return current
            }
            withExtendedLifetime(earlier) {}
        }
    }

    private static let current = Guarded<ImagePipeline?>(nil)
}
