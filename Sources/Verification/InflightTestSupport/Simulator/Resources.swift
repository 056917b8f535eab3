internal import InflightConcurrency
internal import InflightContract
internal import InflightCore

/// The resources of the simulator's world, and their requests.
///
/// | number | request |
/// |---|---|
/// | 0, 1 | `GET http://a.example/0`, `/1`; the second follows no redirect |
/// | 2, 3 | `GET http://b.example/2`, `/3`; the first has a total timeout |
/// | 4 | `GET http://a.example/0` with an additional field |
/// | 5 | `POST http://b.example/2` with a body |
/// | 6 | the header of `http://b.example/6` |
/// | 7 | `ftp://a.example/7`, an unsupported scheme |
/// | 8 | one identity, under two URLs: `http://a.example/8` and `http://b.example/8`, with credentials |
/// | 9 | `GET http://a.example/9` with credentials; fallbacks 3 and 13 |
/// | 10 | a source of bytes; fallback 3 |
/// | 11 | a source of an image |
/// | 12 | `ftp://a.example/c`; fallbacks 7 and 3 |
/// | 13 | `GET http://a.example/0` with credentials |
enum Resources {
    /// Most of its tasks allow no redirect.
    static let limited: UInt8 = 1
    static let header: UInt8 = 6
    static let refused: UInt8 = 7
    static let identified: UInt8 = 8
    static let bytesSource: UInt8 = 10
    static let imageSource: UInt8 = 11
    static let refusedAtFirst: UInt8 = 12

    static let urls = [
        "http://a.example/0", "http://a.example/1", "http://b.example/2", "http://b.example/3", "http://a.example/0",
        "http://b.example/2", "http://b.example/6", "ftp://a.example/7", "http://a.example/8", "http://a.example/9",
        "", "", "ftp://a.example/c", "http://a.example/0",
    ]
    private static let otherURL = "http://b.example/8"
    private static let origins: [UInt8] = [0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 2, 2, 0, 0]

    static let interim = ResponseHead(status: 103)
    static let plain = ResponseHead(status: 200)
    static let varying = ResponseHead(status: 200, fields: HTTPFields([("Vary", "Accept-Language")]))

    /// Redirect fields by resource.
    static let redirects = urls.indices.map { HTTPFields([("Location", target(of: UInt8($0)))]) }

    /// Returns the target of a resource's redirect. The target's own redirect is a loop.
    private static func target(of resource: UInt8) -> String {
        "http://\(redirectOrigin(of: resource) == 1 ? "b" : "a").example/\(String(resource, radix: 16))r"
    }

    /// Returns the key under which a response is stored.
    static func cacheKey(_ resource: UInt8, origin: UInt8, isRedirected: Bool) -> String {
        if isRedirected { return target(of: resource) }
        return resource == identified ? "identity the eighth" : urls[Int(resource)]
    }

    /// Returns whether the responses of its URL vary by a field that some requests have.
    static func isVaried(_ resource: UInt8) -> Bool { urls[Int(resource)] == urls[0] }

    static func redirectOrigin(of resource: UInt8) -> UInt8 {
        resource % 2 == 0 || resource == 9 ? 1 : 0
    }

    /// The fallbacks by resource.
    static let fallbacks: [UInt8: [UInt8]] = [9: [3, 13], 10: [3], 12: [7, 3]]

    static func fallbackSpecs(_ setup: Setup) -> [UInt8: [RequestSpec]] {
        fallbacks.mapValues { $0.map { spec($0, kind: $0 == refused ? .refused : .image, setup: setup) } }
    }

    /// A request as sent: its kind, resource, properties and target.
    struct Sent {
        var kind: RequestSpec.Kind
        var resource: UInt8
        var origin: UInt8
        var language: UInt8
        var isRedirected: Bool
        var hasCredentials: Bool

        init(_ url: ResourceURL, method: String, fields: HTTPFields, setup: Setup) {
            let text = url.string.utf8
            let digit = text[text.index(text.startIndex, offsetBy: 17)]
            resource = digit < 0x3A ? digit - 0x30 : digit - 0x61 + 10
            origin = text[text.index(text.startIndex, offsetBy: 7)] - 0x61
            isRedirected = text.count > 18
            hasCredentials = !fields.isEmpty && fields.contains("authorization")
            if !isRedirected {
                if method == "POST" { resource = 5 }
                if resource == 0, !fields.isEmpty, fields.contains("x-caller") { resource = 4 }
                if resource == 0, hasCredentials { resource = 13 }
            }
            // Requests for images and bytes have the engine's `Accept` field.
            let hasAccept = fields.isEmpty ? false : fields.contains("accept")
            kind = resource == Resources.header ? .header : hasAccept ? .image : .response
            language = setup.hasExcludedFields && fields["accept-language"] == "2" ? 2 : 1
        }
    }

    static func spec(_ resource: UInt8, kind: RequestSpec.Kind, setup: Setup) -> RequestSpec {
        var spec = RequestSpec(kind: kind, resource: resource, origin: origins[Int(resource)])
        switch resource {
        case limited: spec.redirects = 0
        case 4: spec.isOfCaller = true
        case 5: spec.isUnsafe = true
        case 2: spec.totalTime = setup.totalTime
        case 8, 9, 13: spec.hasCredentials = true
        case bytesSource: spec.source = .bytes
        case imageSource: spec.source = .image
        default: break
        }
        return spec
    }

    /// Returns the pipeline's request for a request of the model, without its priority.
    static func request(_ spec: RequestSpec, setup: Setup, world: World) -> ImageRequest {
        var request: ImageRequest
        switch spec.source {
        case .none: request = ImageRequest(spec.resource == identified && spec.origin == 1 ? otherURL : url(spec))
        case .bytes, .image: request = ImageRequest(source: world.source(spec.resource))
        }
        if let order = spec.order { request.order = order }
        if spec.size > 0 { request.resize = Resize(width: Int(spec.size)) }
        // Seconds may pass between two bytes.
        if setup.isSlow || setup.hasStore { request.limits.minimumBytesPerSecond = 0 }
        if spec.hasCredentials { request.fields.append("Authorization", "secret") }
        switch spec.resource {
        case limited: request.limits.maximumRedirects = spec.redirects
        case 2 where spec.totalTime > 0: request.limits.totalTimeout = .nanoseconds(spec.totalTime)
        case 4: request.fields.append("X-Caller", "4")
        case 5:
            request.method = "POST"
            request.body = Bytes([5])
        case identified: request.identity = "the eighth"
        default: break
        }
        if spec.policy != .obey {
            request.cachePolicy = spec.policy
            // Makes the job of an exchange visible in the transport.
            request.fields.append("X-Policy", spec.policy.rawValue)
        }
        if setup.hasFallbacks, let others = fallbacks[spec.resource] {
            request.fallbacks = others.map { urls[Int($0)] }
        }
        if setup.hasExcludedFields { request.fields.append("Accept-Language", spec.language == 2 ? "2" : "1") }
        if spec.first > 0 {
            request.processors = [spec.first, spec.second].filter { $0 > 0 }
                .map { ImageProcessor(SimulatedProcessor(world: world, number: $0, policy: spec.policy)) }
        }
        return request
    }

    private static func url(_ spec: RequestSpec) -> String { urls[Int(spec.resource)] }

    /// Returns the resource that a fallback URL of a log entry stands for.
    static func fallback(_ url: String?, of model: ContractModel) -> UInt8 {
        url == urls[3] ? 3 : url == urls[13] ? 13 : refused
    }
}
