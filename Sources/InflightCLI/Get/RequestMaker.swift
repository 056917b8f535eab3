import Inflight
import InflightCore

/// Makes the engine's requests of what the command was told.
struct RequestMaker {
    private let options: NetworkOptions
    private let resize: Resize?
    private let fields: HTTPFields
    private let limits: ImageRequest.Limits

    init(_ options: NetworkOptions, resize: Resize? = nil) {
        self.options = options
        self.resize = resize
        fields = HTTPFields(options.headers.filter { $0.host == nil }.map { ($0.name, $0.value) })
        var limits = ImageRequest.Limits()
        limits.totalTimeout = options.timeout
        limits.maximumBodyBytes = options.maximumBytes
        limits.maximumPixels = options.maximumPixels
        limits.maximumRedirects = options.maximumRedirects
        self.limits = limits
    }

    func request(_ text: String, _ url: ResourceURL) -> ImageRequest {
        var request = ImageRequest(text, resize: resize)
        request.limits = limits
        request.fields = fields
        if let origin = url.origin {
            for header in options.headers where header.host?.matches(origin) == true {
                request.originFields.append(header.name, header.value)
            }
        }
        return request
    }
}
