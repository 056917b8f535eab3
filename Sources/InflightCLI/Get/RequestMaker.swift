import Inflight
import InflightCore

/// Makes the engine's requests of what the command was told.
struct RequestMaker {
    private let options: NetworkOptions
    private let resize: Resize?
    private let processors: [ImageProcessor]
    private let fields: HTTPFields
    private let limits: ImageRequest.Limits

    private let policy: CachePolicy
    private let expectsPicture: Bool
    private let checksum: Checksum?
    private var previews: PreviewOptions?
    private var acceptsIncomplete = false
    private var servesStaleOnDisconnect = false
    private let keepsMetadata: Bool
    private let page: Int

    init(_ options: GetOptions) {
        self.init(
            options.network, resize: options.resize, processors: options.processors, policy: options.cache.policy,
            expectsPicture: options.treatment != .anything, checksum: options.checksum,
            keepsMetadata: options.keepsMetadata && options.treatment == .remade, page: options.page ?? 0)
        if options.showsPreviews { previews = PreviewOptions() }
        acceptsIncomplete = options.acceptsIncomplete
        servesStaleOnDisconnect = options.cache.servesStaleOnDisconnect
    }

    init(
        _ options: NetworkOptions, resize: Resize? = nil, processors: [ImageProcessor] = [],
        policy: CachePolicy = .obey, expectsPicture: Bool = true, checksum: Checksum? = nil,
        keepsMetadata: Bool = false, page: Int = 0
    ) {
        self.policy = policy
        self.expectsPicture = expectsPicture
        self.checksum = checksum
        self.keepsMetadata = keepsMetadata
        self.page = page
        self.options = options
        self.resize = resize
        self.processors = processors
        fields = HTTPFields(options.headers.filter { $0.host == nil }.map { ($0.name, $0.value) })
        var limits = ImageRequest.Limits()
        limits.totalTimeout = options.timeout
        limits.minimumBytesPerSecond = options.minimumRate
        limits.maximumBodyBytes = options.maximumBytes
        limits.maximumPixels = options.maximumPixels
        limits.maximumRedirects = options.maximumRedirects
        self.limits = limits
    }

    func request(_ text: String, _ url: ResourceURL) -> ImageRequest {
        var request = ImageRequest(text, resize: resize)
        request.limits = limits
        request.fields = fields
        request.cachePolicy = policy
        request.expectsPicture = expectsPicture
        request.checksum = checksum
        if let previews { request.previews = previews }
        if servesStaleOnDisconnect { request.servesStaleOnDisconnect = true }
        if acceptsIncomplete { request.acceptsIncomplete = true }
        if page != 0 { request.page = page }
        if keepsMetadata { request.keepsMetadata = true }
        if !processors.isEmpty { request.processors = processors }
        if let origin = url.origin {
            for header in options.headers where header.host?.matches(origin) == true {
                request.originFields.append(header.name, header.value)
            }
        }
        return request
    }
}
