import Inflight
import InflightCore

/// Creates the engine's requests from the command's options.
struct RequestFactory {
    private var template = ImageRequest("")
    private let headersByHost: [NetworkOptions.Header]

    init(_ options: NetworkOptions) {
        headersByHost = options.headers.filter { $0.host != nil }
        template.limits = options.limits
        template.fields = HTTPFields(options.headers.filter { $0.host == nil }.map { ($0.name, $0.value) })
        template.expectsImage = true
    }

    init(_ options: GetOptions) {
        self.init(options.network)
        template.resize = options.resize
        template.processors = options.processors
        template.page = options.page ?? 0
        template.cachePolicy = options.cache.policy
        template.servesStaleOnDisconnect = options.cache.servesStaleOnDisconnect
        template.expectsImage = options.treatment != .anything
        template.checksum = options.checksum
        template.verifiesStoredImage = options.treatment == .unchanged(verified: true)
        template.keepsMetadata = options.keepsMetadata && options.treatment == .reencoded
        template.allowsPartialImage = options.allowsPartialImage
        if options.showsPreviews { template.previews = ImageRequest.PreviewOptions() }
    }

    func request(_ text: String, _ url: ResourceURL) -> ImageRequest {
        var request = template
        request.url = text
        if let origin = url.origin {
            for header in headersByHost where header.host?.matches(origin) == true {
                request.originFields.append(header.name, header.value)
            }
        }
        return request
    }
}
