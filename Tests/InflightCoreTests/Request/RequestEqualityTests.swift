import InflightCore
import Testing

@Suite("Equality of requests")
struct RequestEqualityTests {
    @Test(
        "Requests differ if any of their properties does",
        arguments: [
            { $0.url = "http://a.example/2" }, { $0.resize = Resize(width: 1) }, { $0.priority = .low },
            { $0.fields["Accept"] = "image/png" }, { $0.processors = [.circle()] }, { $0.limits.maximumRedirects = 1 },
            { $0.cachePolicy = .reload }, { $0.identity = "1" }, { $0.body = Bytes([1]) }, { $0.previews = .init() },
        ] as [@Sendable (inout ImageRequest) -> Void])
    func differ(change: @Sendable (inout ImageRequest) -> Void) {
        let request = ImageRequest("http://a.example/1")
        var changed = request
        change(&changed)
        #expect(changed != request)
        var same = request
        change(&same)
        #expect(changed == same && changed.hashValue == same.hashValue)
    }

    @Test("A property that was changed back makes no difference, and sources are compared by identity")
    func same() {
        let request = ImageRequest("http://a.example/1")
        var changed = request
        changed.method = "HEAD"
        changed.method = "GET"
        #expect(changed == request && changed.hashValue == request.hashValue)
        let (one, two) = (ImageRequest.Source("a") { .bytes(.empty) }, ImageRequest.Source("a") { .bytes(.empty) })
        #expect(ImageRequest(source: one) == ImageRequest(source: two))
        #expect(ImageRequest(source: one) != ImageRequest(source: .init("b") { .bytes(.empty) }))
    }

    @Test("Initialisers set the processors")
    func processors() {
        #expect(ImageRequest("http://a.example/1", processors: [.circle()]).processors == [.circle()])
        let source = ImageRequest.Source("a") { .bytes(.empty) }
        #expect(ImageRequest(source: source, processors: [.circle()]).processors == [.circle()])
    }
}
