internal import InflightCodecs
internal import InflightCodings
public import InflightCore
public import InflightCurl
public import InflightDisk

extension ImagePipeline.Configuration {
    /// The defaults: HTTP by libcurl, local files, `data:` URLs; JPEG, PNG, WebP and GIF by their own libraries,
    /// BMP and ICO by ours.
    ///
    /// - Parameter curl: what the HTTP transport needs to know, such as a CA file. How many connections it may open to
    ///   an origin follows ``ImagePipeline/Configuration/maximumConcurrentFetchesPerOrigin``.
    /// - Parameter cache: the folder in which answers are kept beyond the life of the process; `nil`: nothing is.
    public init(curl: CurlTransport.Configuration = .init(), cache: DiskStore.Configuration? = nil) {
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
            codecs: CodecRegistry(Codecs.standard))
        contentCodings = ContentCodings.standard
        retry = RetryPolicy()
        if let cache {
            store = .owned { configuration in
                var cache = cache
                cache.clock = configuration.clock
                return DiskStore(cache)
            }
        }
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
