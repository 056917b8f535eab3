import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("HTTP freshness of images in memory", .timeLimit(.minutes(10)))
struct MemoryFreshnessTests {
    private static let fresh = ("Cache-Control", "max-age=60")

    private func stage(
        _ scripts: ScriptedTransport.Script..., change: (inout ImagePipeline.Configuration) -> Void = { $0.store = nil }
    ) throws -> StoreStage {
        let stage = try StoreStage(change: change)
        stage.serve(StoreStage.url, scripts)
        return stage
    }

    private func image(_ width: UInt8, _ fields: (String, String)...) -> ScriptedTransport.Script {
        .ok(FakeCodec.picture(width: width, height: 8), fields: StoreStage.fields(fields))
    }

    // MARK: The decision

    private static let date = WallTime(secondsSince1970: 1_700_000_000)

    private static func freshness(_ fields: (String, String)..., status: Int = 200, delay: Int64 = 0) -> MemoryFreshness
    {
        MemoryFreshness(
            of: StoredResponse(
                method: "GET", url: StoreStage.url, varyFields: HTTPFields(),
                head: ResponseHead(status: status, fields: StoreStage.fields(fields)),
                requestTime: date.adding(milliseconds: -delay), responseTime: date, bodyRange: 0..<0, totalLength: nil))
    }

    @Test("The freshness lifetime of images in memory follows from the response") func lifetimes() {
        func seconds(_ freshness: MemoryFreshness) -> Double {
            Double(freshness.expiry.milliseconds(since: Self.date)) / 1000
        }
        #expect(seconds(Self.freshness(("Cache-Control", "max-age=60"))) == 60)
        #expect(seconds(Self.freshness(("Cache-Control", "max-age=60"), ("Age", "20"), delay: 5000)) == 35)
        #expect(seconds(Self.freshness(("Expires", "Tue, 14 Nov 2023 22:14:20 GMT"))) == 60)
        #expect(seconds(Self.freshness(("Last-Modified", "Tue, 14 Nov 2023 22:03:20 GMT"))) == 60)
        // Without a stated lifetime, a heuristic one applies, except with must-revalidate and for a redirect.
        #expect(seconds(Self.freshness()) == 300)
        #expect(seconds(Self.freshness(("ETag", "\"a\""))) == 300)
        #expect(seconds(Self.freshness(("Cache-Control", "must-revalidate"))) == 0)
        #expect(seconds(Self.freshness(status: 302)) == 0)
        for value in ["no-cache", "no-store", "max-age=60, no-store", "no-cache, max-age=60"] {
            #expect(seconds(Self.freshness(("Cache-Control", value))) < 0, "\(value)")
        }
        #expect(seconds(Self.freshness(Self.fresh, ("Vary", "*"))) < 0)
    }

    @Test("The no-store directive forbids caching, and no-cache and must-revalidate forbid stale use") func noStore() {
        #expect(!Self.freshness(("Cache-Control", "no-store")).mayBeKept)
        #expect(Self.freshness(("Cache-Control", "no-cache")).mayBeKept)
        #expect(Self.freshness(("Cache-Control", "no-store, must-understand, max-age=9")).mayBeKept)
        #expect(Self.freshness(("Cache-Control", "max-age=0")).mayBeServedStale)
        #expect(!Self.freshness(("Cache-Control", "no-cache")).mayBeServedStale)
        #expect(!Self.freshness(("Cache-Control", "max-age=9, must-revalidate")).mayBeServedStale)
    }

    @Test("The lifetime table sweeps out lifetimes that no image uses") func sweeping() {
        var table = LifetimeTable()
        let head = ResponseHead(status: 200, fields: StoreStage.fields([Self.fresh]))
        let response = StoredResponse(
            method: "GET", url: "", varyFields: HTTPFields(), head: head, requestTime: Self.date,
            responseTime: Self.date, bodyRange: 0..<0, totalLength: nil)
        let held = table.received(response, for: .init(name: "held"), from: .origin)
        for index in 0..<10_000 { _ = table.received(response, for: .init(name: "\(index)"), from: .origin) }
        #expect(table.count <= 256)
        _ = table.received(response, for: .init(name: "held"), from: .origin)
        #expect(held.isSuperseded)
    }

    @Test("A response with the validator of a no-store response gets its own lifetime") func noStoreValidator() {
        var table = LifetimeTable()
        let kept = [("max-age=9", "1"), ("no-store", "2"), ("max-age=9", "2")].map { control, tag in
            let fields = StoreStage.fields([("Cache-Control", control), ("ETag", "\"\(tag)\"")])
            let response = StoredResponse(
                method: "GET", url: "", varyFields: HTTPFields(), head: ResponseHead(status: 200, fields: fields),
                requestTime: Self.date, responseTime: Self.date, bodyRange: 0..<0, totalLength: nil)
            return table.received(response, for: .init(name: "a"), from: .origin).mayBeKept
        }
        #expect(kept == [true, false, true])
    }

    // MARK: Loads

    @Test("A no-store, no-cache or max-age=0 image is fetched again", arguments: ["no-store", "no-cache", "max-age=0"])
    func refetching(control: String) async throws {
        let stage = try stage(image(1, ("Cache-Control", control)), image(2, ("Cache-Control", control)))
        let request = ImageRequest(StoreStage.url)
        #expect(try await stage.pipeline.image(for: request).width == 1)
        let cached = stage.pipeline.cache[request]
        #expect(control == "no-store" ? cached == nil : cached?.isStale == true)
        #expect(try await stage.pipeline.image(for: request).width == 2)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A fresh image is served from memory until its lifetime ends") func expiry() async throws {
        let stage = try stage(image(1, Self.fresh))
        let request = ImageRequest(StoreStage.url)
        _ = try await stage.pipeline.image(for: request)
        stage.clock.advance(by: .seconds(59))
        #expect(stage.pipeline.cache[request]?.isStale == false)
        #expect(try await stage.pipeline.image(for: request).source == .memory)
        stage.clock.advance(by: .seconds(1))
        #expect(stage.pipeline.cache[request]?.isStale == true)
        #expect(try await stage.pipeline.image(for: request).source == .network)
        await stage.end()
    }

    @Test("Revalidating a stale image makes its other sizes in memory fresh again") func revalidation() async throws {
        let stage = try stage(
            image(16, Self.fresh, ("ETag", "\"a\"")),
            .status(304, HTTPFields([("Cache-Control", "max-age=60"), ("ETag", "\"a\"")])), change: { _ in })
        _ = try await stage.image()
        _ = try await stage.image { $0.resize = Resize(width: 2, height: 2) }
        stage.clock.advance(by: .seconds(61))
        #expect(try await stage.image().source == .revalidated)
        #expect(stage.sent.last?.fields["if-none-match"] == "\"a\"")
        #expect(try await stage.image { $0.resize = Resize(width: 2, height: 2) }.source == .memory)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A newer response makes every image of the older one stale", arguments: [false, true])
    func newerResponse(asBytes: Bool) async throws {
        let stage = try stage(image(16, Self.fresh), image(17, Self.fresh))
        let changes: [@Sendable (inout ImageRequest) -> Void] = [
            { _ in }, { $0.resize = Resize(width: 2, height: 2) },
            { $0.processors = [ImageProcessor(FakeProcessor(name: "a"))] }, { $0.pixelOrder = .bgra },
        ]
        for change in changes { _ = try await stage.image(StoreStage.url, change) }
        let count = stage.sent.count
        if asBytes {
            _ = try await stage.data { $0.cachePolicy = .refresh }
        } else {
            _ = try await stage.image { $0.cachePolicy = .refresh }
        }
        for (index, change) in changes.enumerated() where asBytes || index > 0 {
            var request = ImageRequest(StoreStage.url)
            change(&request)
            #expect(stage.pipeline.cache[request]?.isStale == true, "\(index)")
        }
        #expect(try await stage.image(StoreStage.url, changes[1]).source == .network)
        #expect(try await stage.image(StoreStage.url, changes[2]).info.storedWidth == 17)
        #expect(stage.sent.count > count + 1)
        await stage.end()
    }

    @Test("A response to other request header fields leaves an image in memory fresh") func otherFields() async throws {
        let stage = try stage(image(1, Self.fresh))
        var other = ImageRequest(StoreStage.url)
        other.fields = HTTPFields([("Accept-Language", "de")])
        _ = try await stage.pipeline.image(for: ImageRequest(StoreStage.url))
        _ = try await stage.pipeline.image(for: other)
        #expect(stage.pipeline.cache[ImageRequest(StoreStage.url)]?.isStale == false)
        await stage.end()
    }

    @Test("A POST makes an image in memory stale, and the next request fetches it again")
    func unsafeMethod() async throws {
        let stage = try stage(image(1, Self.fresh), image(1, Self.fresh), .status(404))
        let request = ImageRequest(StoreStage.url)
        _ = try await stage.pipeline.image(for: request)
        _ = try await stage.get { $0.method = "POST" }
        #expect(stage.pipeline.cache[request]?.isStale == true)
        let error = await #expect(throws: LoadError.self) { _ = try await stage.pipeline.image(for: request) }
        #expect(error?.status == 404)
        await stage.end()
    }

    @Test("A 404 makes an image in memory stale") func missingResource() async throws {
        let stage = try stage(image(1, Self.fresh), .status(404))
        _ = try await stage.image()
        let error = await #expect(throws: LoadError.self) { _ = try await stage.image { $0.cachePolicy = .refresh } }
        #expect(error?.status == 404)
        #expect(stage.pipeline.cache[ImageRequest(StoreStage.url)]?.isStale == true)
        await stage.end()
    }

    @Test("An image behind a redirect is fresh only while both responses are") func redirects() async throws {
        let stage = try stage(image(1, ("Cache-Control", "max-age=90")))
        func redirect(_ path: String, _ fields: (String, String)...) {
            let script = ScriptedTransport.Script.status(
                302, StoreStage.fields(fields + [("Location", StoreStage.url)]))
            stage.transport.serve("http://a.example/\(path)", script)
        }
        redirect("plain")
        redirect("kept", Self.fresh)
        for path in ["plain", "kept"] {
            _ = try await stage.pipeline.image(for: ImageRequest("http://a.example/\(path)"))
        }
        func isStale(_ path: String) -> Bool? {
            stage.pipeline.cache[ImageRequest("http://a.example/\(path)")]?.isStale
        }
        #expect(isStale("plain") == true)
        #expect(isStale("kept") == false)
        stage.clock.advance(by: .seconds(61))
        #expect(isStale("kept") == true)
        await stage.end()
    }

    @Test("A stale image is served from memory if the request, the pipeline or the policy allows it")
    func staleUse() async throws {
        for isOfAll in [false, true] {
            let stage = try stage(image(1, ("Cache-Control", "no-cache")), image(2, Self.fresh)) {
                $0.store = nil
                $0.allowsStaleFromMemory = isOfAll
            }
            var request = ImageRequest(StoreStage.url)
            if !isOfAll { request.allowsStaleFromMemory = true }
            _ = try await stage.pipeline.image(for: request)
            let again = try await stage.pipeline.image(for: request)
            #expect(again.source == .memory && again.isStale)
            // Make the image in memory obsolete by a newer response.
            _ = try await stage.data { $0.cachePolicy = .refresh }
            #expect(try await stage.pipeline.image(for: request).width == 2)
            await stage.end()
        }
        let stage = try stage(image(1, ("Cache-Control", "max-age=0")))
        var request = ImageRequest(StoreStage.url)
        request.cachePolicy = .preferCached
        _ = try await stage.pipeline.image(for: request)
        #expect(try await stage.pipeline.image(for: request).source == .memory)
        request.cachePolicy = .obey
        #expect(try await stage.pipeline.image(for: request).source == .network)
        await stage.end()
    }

    @Test("Cache-Control of a request applies to images in memory", arguments: ["no-cache", "no-store", "max-age=0"])
    func requestDirectives(control: String) async throws {
        let stage = try stage(image(1, Self.fresh))
        var request = ImageRequest(StoreStage.url)
        request.fields = HTTPFields([("Cache-Control", control)])
        _ = try await stage.pipeline.image(for: request)
        #expect(try await stage.pipeline.image(for: request).source == .network)
        await stage.end()
    }

    @Test("Requests in flight share a no-store response, and the memory cache does not store it")
    func noStoreCoalescing() async throws {
        let stage = try StoreStage { $0.store = nil }
        stage.transport.serve(StoreStage.url, image(1, ("Cache-Control", "no-store")).stalled("body"))
        let queue = ManualQueue()
        let log = Log()
        for _ in 0..<2 {
            stage.pipeline.load(ImageRequest(StoreStage.url), on: queue.callbackQueue) { _, result in
                log.add((try? result.get().source.rawValue) ?? "failed")
            }
        }
        stage.transport.release("body")
        await stage.end()
        queue.runAll()
        #expect(log.lines.sorted() == ["network", "shared"])
        #expect(stage.transport.startCount == 1)
        #expect(stage.pipeline.cache.statistics.count == 0)
    }

    @Test("An image loader replaces a stale image in memory") @MainActor func loader() async throws {
        let stage = try stage(image(1, ("Cache-Control", "no-cache")), image(2, Self.fresh))
        _ = try await stage.pipeline.image(for: ImageRequest(StoreStage.url))
        let loader = ImageLoader(pipeline: stage.pipeline, callbackQueue: .main)
        let done = Promise<Bool>()
        loader.onChange = { if case .loaded = $0.state { done.set(true) } }
        loader.request = ImageRequest(StoreStage.url)
        _ = try await done.value
        #expect(loader.picture?.width == 2)
        await stage.end()
    }
}
