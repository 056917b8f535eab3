internal import InflightContract
internal import InflightCore

/// What there is in the simulator's world, and how it is asked for.
///
/// | number | request |
/// |---|---|
/// | 0, 1 | `GET http://a.example/0`, `/1`; the second follows two redirects at most |
/// | 2, 3 | `GET http://b.example/2`, `/3`; the first has a total timeout |
/// | 4 | `GET http://a.example/0` with a field of its own |
/// | 5 | `POST http://b.example/2` with a body |
/// | 6 | the header of `http://b.example/6` |
/// | 7 | `ftp://a.example/7`, which no transport serves |
enum Resources {
    static let header: UInt8 = 6
    static let urls = [
        "http://a.example/0", "http://a.example/1", "http://b.example/2", "http://b.example/3", "http://a.example/0",
        "http://b.example/2", "http://b.example/6",
        "ftp://a.example/7",
    ]

    static let refused: UInt8 = 7
    static let interim = ResponseHead(status: 103)
    static let plain = ResponseHead(status: 200)
    static let varying = ResponseHead(status: 200, fields: HTTPFields([("Vary", "Accept-Language")]))

    /// By resource.
    static let redirects = (0..<7).map { HTTPFields([("Location", target(of: UInt8($0)))]) }

    /// Where a resource redirects to: always the same origin, so that the second redirect stays there.
    private static func target(of resource: UInt8) -> String {
        "http://\(resource % 2 == 0 ? "b" : "a").example/\(resource)r"
    }

    static func redirectOrigin(of resource: UInt8) -> UInt8 {
        resource % 2 == 0 ? 1 : 0
    }

    /// Whether an exchange goes to where a redirect led.
    static func isRedirected(_ request: TransportRequest) -> Bool {
        request.url.string.utf8.count > 18
    }

    /// What an exchange asks for, and where.
    static func resource(of request: TransportRequest) -> (UInt8, origin: UInt8) {
        let text = request.url.string.utf8
        let digit = text[text.index(text.startIndex, offsetBy: 17)] - 0x30
        let origin = text[text.index(text.startIndex, offsetBy: 7)] - 0x61
        if isRedirected(request) { return (digit, origin) }
        if request.method == "POST" { return (5, origin) }
        if digit == 0, request.fields.contains("x-caller") { return (4, origin) }
        return (digit, origin)
    }

    static func wish(_ resource: UInt8, kind: Wish.Kind, setup: Setup) -> Wish {
        var wish = Wish(kind: kind, resource: resource, origin: [0, 0, 1, 1, 0, 1, 1, 0][Int(resource)])
        if resource == 1 { wish.redirects = 2 }
        if resource == 2 { wish.totalTime = setup.totalTime }
        return wish
    }

    /// The request for a wish, but for its priority.
    static func request(_ wish: Wish, setup: Setup, world: World) -> ImageRequest {
        var request = ImageRequest(urls[Int(wish.resource)])
        if wish.size > 0 { request.resize = Resize(width: Int(wish.size)) }
        switch wish.resource {
        case 1: request.limits.maximumRedirects = 2
        case 2: request.limits.totalTimeout = .nanoseconds(setup.totalTime)
        case 4: request.fields.append("X-Caller", "4")
        case 5:
            request.method = "POST"
            request.body = Bytes([5])
        default: break
        }
        if setup.hasHarmless { request.fields.append("Accept-Language", wish.language == 2 ? "2" : "1") }
        if wish.first > 0 {
            request.processors = [wish.first, wish.second].filter { $0 > 0 }
                .map { SimulatedProcessor(world: world, number: $0) }
        }
        return request
    }
}
