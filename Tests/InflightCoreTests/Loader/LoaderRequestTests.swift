import InflightCore
import InflightImages
import InflightTestSupport
import Testing

/// What a loader does if its next request differs from the one in progress in a single property.
@Suite("Requests of an image loader", .timeLimit(.minutes(10)))
struct LoaderRequestTests {
    enum Effect: Sendable {
        case newLoad
        case sameLoad
    }

    struct Change: Sendable, CustomTestStringConvertible {
        /// The name of the property; limits follow "limits.".
        let property: String
        let effect: Effect
        let apply: @Sendable (inout ImageRequest) -> Void

        init(_ property: String, _ effect: Effect = .newLoad, _ apply: @escaping @Sendable (inout ImageRequest) -> Void)
        {
            (self.property, self.effect, self.apply) = (property, effect, apply)
        }

        var testDescription: String { property }
    }

    static let changes = [
        Change("url") { $0.url = LoaderStage.other },
        Change("resize") { $0.resize = Resize(width: 7, height: 1) },
        Change("priority", .sameLoad) { $0.priority = .veryHigh },
        Change("method") { $0.method = "POST" },
        Change("fields") { $0.fields["X-Kind"] = "1" },
        Change("originFields") { $0.originFields["X-Kind"] = "1" },
        Change("body") { $0.body = Bytes([1]) },
        Change("processors") { $0.processors = [.circle()] },
        Change("pixelOrder") { $0.pixelOrder = .bgra },
        Change("premultipliesAlpha") { $0.premultipliesAlpha = true },
        Change("limits.connectTimeout") { $0.limits.connectTimeout = .seconds(3) },
        Change("limits.stallTimeout") { $0.limits.stallTimeout = .seconds(3) },
        Change("limits.totalTimeout") { $0.limits.totalTimeout = .seconds(3) },
        Change("limits.minimumBytesPerSecond") { $0.limits.minimumBytesPerSecond = 3 },
        Change("limits.minimumRatePeriod") { $0.limits.minimumRatePeriod = .seconds(3) },
        Change("limits.maximumBodyBytes") { $0.limits.maximumBodyBytes = 3000 },
        Change("limits.maximumPixels") { $0.limits.maximumPixels = 3000 },
        Change("limits.maximumDecodeBytes") { $0.limits.maximumDecodeBytes = 300_000 },
        Change("limits.maximumRedirects") { $0.limits.maximumRedirects = 3 },
        Change("readsMemory", .sameLoad) { $0.readsMemory = false },
        Change("writesMemory", .sameLoad) { $0.writesMemory = false },
        Change("retry", .sameLoad) { $0.retry = RetryPolicy() },
        Change("userInfo", .sameLoad) { $0.userInfo = ["list": "7"] },
        Change("deadline", .sameLoad) { $0.deadline = .seconds(3) },
        Change("identity") { $0.identity = "photo" },
        Change("cachePolicy") { $0.cachePolicy = .refresh },
        Change("servesStaleOnDisconnect") { $0.servesStaleOnDisconnect = true },
        Change("verifiesStoredImage") { $0.verifiesStoredImage = true },
        Change("followsRedirects") { $0.followsRedirects = false },
        // A load of an image expects one in any case.
        Change("expectsImage", .sameLoad) { $0.expectsImage = true },
        Change("order", .sameLoad) { $0.order = .firstInFirstOut },
        Change("storedRepresentation", .sameLoad) { $0.storedRepresentation = .both },
        Change("keepsMetadata") { $0.keepsMetadata = true }, Change("keepsBody") { $0.keepsBody = true },
        Change("decoder") { $0.decoder = "other" },
        Change("page") { $0.page = 1 },
        Change("checksum") { $0.checksum = Checksum("sha256:" + String(repeating: "0", count: 64)) },
        Change("fallbacks", .sameLoad) { $0.fallbacks = [LoaderStage.other] },
        Change("source") { $0 = ImageRequest(source: .init("photo") { .bytes(.empty) }) },
        Change("previews", .sameLoad) { $0.previews = ImageRequest.PreviewOptions() },
        Change("allowsPartialImage") { $0.allowsPartialImage = true },
        Change("allowsStaleFromMemory", .sameLoad) { $0.allowsStaleFromMemory = true },
    ]

    @Test(
        "A request that differs in one property starts a new load, or continues the one in progress", arguments: changes
    )
    func differ(change: Change) throws {
        let stage = try LoaderStage { $0.decoders = ["other": $0.codecs] }
        let url = LoaderStage.url
        stage.bind(url)
        stage.transport.step(url)
        stage.transport.step(url)
        #expect(stage.shown == "loading 10")
        let shown = stage.onQueue { loader in
            var request = ImageRequest(url)
            change.apply(&request)
            loader.request = request
            return loader.shown
        }
        #expect(shown == (change.effect == .sameLoad ? "loading 10" : "loading"))
        // The same request again changes nothing.
        let again = stage.onQueue { loader in
            let before = loader.shown
            loader.request = loader.request
            return loader.shown == before
        }
        #expect(again == true)
        stage.finish()
    }

    @Test("The list of properties is complete")
    func complete() {
        func properties(of value: Any) -> [String] {
            Mirror(reflecting: value).children.flatMap { child -> [String] in
                switch child.label {
                case "options", "value": properties(of: child.value)
                case "limits": properties(of: child.value).map { "limits." + $0 }
                default: [child.label ?? ""]
                }
            }
        }
        // No program sets the folder of a download.
        let all = Set(properties(of: ImageRequest("http://a.example/1"))).subtracting(["downloadFolder"])
        #expect(all == Set(Self.changes.map(\.property)))
    }

    @Test("A field outside the key starts a new load, because the response may vary by it")
    func excludedField() throws {
        let stage = try LoaderStage { $0.fieldsExcludedFromKey = ["X-Kind"] }
        let url = LoaderStage.url
        stage.transport.serve(url, .ok(FakeCodec.picture(width: 1), fields: HTTPFields([("Vary", "X-Kind")])))
        for kind in ["1", "2"] {
            stage.onQueue { loader in
                var request = ImageRequest(url)
                request.fields["X-Kind"] = kind
                loader.request = request
            }
            stage.finish()
        }
        #expect(stage.transport.startCount == 2)
    }

    @Test("Fallbacks apply to the load in progress")
    func fallbacks() throws {
        let stage = try LoaderStage()
        let (url, other) = (LoaderStage.url, LoaderStage.other)
        stage.transport.serve(url, .failure(.cannotConnect))
        stage.bind(url)
        stage.onQueue { loader in
            var request = ImageRequest(url)
            request.fallbacks = [other]
            loader.request = request
        }
        stage.finish()
        #expect(stage.shown == "loaded 2")
        #expect(stage.transport.startedURLs == [url, other])
    }

    @Test("A load that has taken a fallback starts anew if the request no longer has it, and else continues")
    func takenFallback() throws {
        let stage = try LoaderStage()
        let (url, other, third) = (LoaderStage.url, LoaderStage.other, "http://a.example/3")
        @Sendable func request(_ fallbacks: [String]) -> ImageRequest {
            var request = ImageRequest(url)
            request.fallbacks = fallbacks
            return request
        }
        stage.transport.serve(url, .failure(.cannotConnect))
        stage.onQueue { $0.request = request([other]) }
        stage.transport.step(url)
        #expect(stage.transport.startedURLs == [url, other])
        stage.onQueue { $0.request = request([other, third]) }
        #expect(stage.transport.startedURLs == [url, other])
        stage.onQueue { $0.request = request([third]) }
        #expect(stage.transport.startedURLs == [url, other, url])
        stage.finish()
        #expect(stage.shown == "loaded 3")
        // The image of a fallback that is no longer requested is not kept either.
        stage.onQueue { $0.request = request([third, other]) }
        #expect(stage.shown == "loaded 3")
        stage.onQueue { $0.request = request([other]) }
        stage.finish()
        #expect(stage.shown == "loaded 2")
    }

    @Test("A failed request is loaded again if it gets a fallback")
    func fallbackOfFailure() throws {
        let stage = try LoaderStage()
        let (url, other) = (LoaderStage.url, LoaderStage.other)
        stage.transport.serve(url, .failure(.cannotConnect))
        stage.bind(url)
        // The failure is on its way to the loader: it is too late for a fallback of that load.
        stage.transport.finishAll()
        stage.onQueue { loader in
            var request = ImageRequest(url)
            request.fallbacks = [other]
            loader.request = request
        }
        stage.finish()
        #expect(stage.shown == "loaded 2")
        stage.onQueue { $0.request = ImageRequest(url) }
        stage.finish()
        #expect(stage.shown == "failed cannotConnect")
        stage.onQueue { loader in
            var request = ImageRequest(url)
            request.fallbacks = [other]
            loader.request = request
        }
        stage.finish()
        #expect(stage.shown == "loaded 2")
    }

    @Test("Limits apply to what is loading")
    func limits() throws {
        let stage = try LoaderStage()
        let url = LoaderStage.url
        stage.bind(url)
        stage.transport.step(url)
        stage.onQueue { loader in
            var request = ImageRequest(url)
            request.limits.maximumBodyBytes = 3
            loader.request = request
        }
        stage.finish()
        #expect(stage.shown == "failed tooLarge")
    }
}
