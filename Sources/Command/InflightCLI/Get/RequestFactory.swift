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
        // An update asks the server even if the cache has a fresh response.
        template.cachePolicy =
            options.updates && options.cache.policy == .obey ? .refresh : options.cache.policy
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

    /// Returns a request that is answered only if the response has changed since an earlier run; `nil` if it sets
    /// conditions of its own.
    ///
    /// It does not follow redirects, because a validator counts only at the URL where it was received.
    static func conditional(_ request: ImageRequest, _ validator: Validator) -> ImageRequest? {
        let conditions = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "range"]
        guard !conditions.contains(where: { request.fields.contains($0) || request.originFields.contains($0) }) else {
            return nil
        }
        var request = request
        let condition = validator.condition
        request.fields.append(name: condition.name.utf8, value: condition.value)
        request.followsRedirects = false
        return request
    }
}
