import Foundation
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Sources, identities and fallbacks", .timeLimit(.minutes(10)))
struct SourceTests {
    private func pipeline(
        _ transport: ScriptedTransport = ScriptedTransport(.automatic),
        change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws -> ImagePipeline {
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([FakeCodec()]))
        configuration.memoryCache = MemoryCacheConfiguration(limit: 1 << 20, reactsToMemoryPressure: false)
        change(&configuration)
        return try ImagePipeline(configuration: configuration)
    }

    private func failure(_ body: () async throws -> Void) async -> LoadError? {
        do {
            try await body()
        } catch {
            return error as? LoadError
        }
        return nil
    }

    // MARK: Sources

    @Test("A source is called once for concurrent requests, and its image is cached in memory")
    func bytes() async throws {
        let pipeline = try pipeline()
        let (calls, entered, mayReturn) = (Counter(), Bridge(), Bridge())
        let source = ImageRequest.Source("album 1/ü") {
            calls.add()
            entered.open()
            await mayReturn.wait()
            return .bytes(FakeCodec.picture(width: 9))
        }
        async let first = pipeline.image(for: ImageRequest(source: source))
        await entered.wait()
        async let second = pipeline.image(for: ImageRequest(source: source))
        try await eventually("a shared load") { pipeline.statistics.coalescedTasks > 0 }
        mayReturn.open()
        let images = try await [first, second]
        #expect(images.map(\.width) == [9, 9])
        #expect(images.allSatisfy { $0.source == .source })
        #expect(calls.count == 1)
        #expect(pipeline.cache[ImageRequest(source: source)]?.width == 9)
        let other = ImageRequest.Source("album 2") { .bytes(FakeCodec.picture(width: 8)) }
        #expect(try await pipeline.image(for: ImageRequest(source: other)).width == 8)
    }

    @Test("Pixels of a source are resized and converted, and loading them as data fails")
    func picture() async throws {
        let pipeline = try pipeline()
        let source = ImageRequest.Source("drawn") { .image(FakeCodec.pixels(width: 8, height: 4)) }
        var request = ImageRequest(source: source, resize: Resize(width: 4))
        request.pixelOrder = .bgra
        let image = try await pipeline.image(for: request)
        #expect(image.width == 4 && image.height == 2)
        #expect(image.pixels.format.order == .bgra)
        #expect(try await pipeline.info(for: request).info.storedWidth == 8)
        let error = await failure { _ = try await pipeline.data(for: request) }
        #expect(error?.code == .invalidRequest)
    }

    @Test(
        "Image and data requests share one call of a pixel source: the image loads, the data fails"
    )
    func pictureAndFile() async throws {
        let pipeline = try pipeline()
        for isFileFirst in [false, true] {
            let (calls, entered, mayReturn) = (Counter(), Bridge(), Bridge())
            let source = ImageRequest.Source("drawn \(isFileFirst)") {
                calls.add()
                entered.open()
                await mayReturn.wait()
                return .image(FakeCodec.pixels(width: 8, height: 4))
            }
            let request = ImageRequest(source: source)
            let queue = ManualQueue()
            let log = Log()
            func askPicture() {
                pipeline.load(request, on: .executor(queue)) { _, result in
                    log.add("picture \((try? result.get().width) ?? 0)")
                }
            }
            func askFile() {
                var request = request
                if isFileFirst { request.fallbacks = ["nothing like a URL"] }
                pipeline.loadResponse(request, on: .executor(queue)) { _, result in
                    if case .failure(let error) = result { log.add("file \(error.code)") }
                }
            }
            if isFileFirst { askFile() } else { askPicture() }
            await entered.wait()
            if isFileFirst { askPicture() } else { askFile() }
            mayReturn.open()
            while log.lines.count < 2 {
                try await queue.waitForWork()
                queue.runAll()
            }
            #expect(log.lines.sorted() == ["file \(isFileFirst ? "invalidURL" : "invalidRequest")", "picture 8"])
            #expect(calls.count == 1)
        }
    }

    @Test("An error thrown by a source fails the load, and the body size limit applies")
    func failing() async throws {
        struct Gone: Error {}
        let pipeline = try pipeline()
        let gone = ImageRequest.Source("gone") { throw Gone() }
        let error = await failure { _ = try await pipeline.image(for: ImageRequest(source: gone)) }
        #expect(error?.code == .extensionFailed && error?.underlying is Gone)
        #expect(error?.url == "source:gone")
        var large = ImageRequest(
            source: ImageRequest.Source("large") { .bytes(Bytes([UInt8](repeating: 0, count: 11))) })
        large.limits.maximumBodyBytes = 10
        #expect(await failure { _ = try await pipeline.data(for: large) }?.code == .tooLarge)
        large.limits.maximumBodyBytes = 11
        #expect(try await pipeline.data(for: large).count == 11)
    }

    @Test("The last cancel cancels the task of a source, and a new request calls the source again")
    func cancelled() async throws {
        let pipeline = try pipeline { $0.maximumConcurrentFetches = 2 }
        let (calls, entered) = (Counter(), Bridge())
        let wasCancelled = Bridge()
        let source = ImageRequest.Source("slow") {
            calls.add()
            if calls.count > 1 { return .bytes(FakeCodec.picture(width: 2)) }
            entered.open()
            let silence = Bridge()
            await withTaskCancellationHandler {
                await silence.wait()
            } onCancel: {
                wasCancelled.open()
                silence.open()
            }
            throw CancellationError()
        }
        let task = Task { try await pipeline.image(for: ImageRequest(source: source)) }
        await entered.wait()
        task.cancel()
        await wasCancelled.wait()
        #expect(try await pipeline.image(for: ImageRequest(source: source)).width == 2)
        #expect(calls.count == 2)
    }

    @Test(
        "A registered transport serves the URLs of its scheme, with or without a host",
        arguments: ["memory:cat", "asset:///cat.jpg", "ASSET://shelf/cat.jpg"])
    func schemes(url: String) async throws {
        let transport = ScriptedTransport(.automatic, schemes: ["memory", "asset"])
        let picture = FakeCodec.picture(width: 3)
        let stale = HTTPFields([("Cache-Control", "no-cache")])
        transport.serve(try ResourceURL(url).string, inOrder: [.ok(picture, fields: stale), .ok(picture)])
        let pipeline = try pipeline(transport)
        var sources: [LoadSource] = []
        for _ in 0..<3 {
            let image = try await pipeline.image(for: ImageRequest(url))
            #expect(image.width == 3)
            sources.append(image.source)
        }
        #expect(sources == [.network, .network, .memory])
    }

    @Test("A source: URL is invalid and never hits the cache entry of a source", arguments: ["source:x", "SOURCE:x"])
    func names(url: String) async throws {
        let pipeline = try pipeline()
        let source = ImageRequest.Source("x") { .bytes(FakeCodec.picture()) }
        _ = try await pipeline.image(for: ImageRequest(source: source))
        #expect(pipeline.cache[ImageRequest(url)] == nil)
        let error = await failure { _ = try await pipeline.image(for: ImageRequest(url)) }
        #expect(error?.code == .invalidURL)
    }

    // MARK: Identity

    @Test("Requests with one identity share a fetch and images across URLs, but not across fields")
    func identity() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serveOthers { request in .ok(FakeCodec.picture(width: request.fields["x-big"] == nil ? 1 : 2)) }
        let pipeline = try pipeline(transport)
        func request(_ signature: String, identity: String? = "photo 7") -> ImageRequest {
            var request = ImageRequest("http://a.example/7?signature=\(signature)")
            request.identity = identity
            return request
        }
        _ = try await pipeline.image(for: request("a"))
        #expect(try await pipeline.image(for: request("b")).source == .memory)
        #expect(pipeline.cache[request("c", identity: "photo 8")] == nil)
        #expect(pipeline.cache[request("a", identity: nil)] == nil)
        var big = request("d")
        big.fields.append("X-Big", "1")
        #expect(try await pipeline.image(for: big).width == 2)
        #expect(transport.startCount == 2)
        // An identity never matches a URL.
        let plain = "http://a.example/7?signature=a"
        #expect(pipeline.cache[request("a", identity: plain)] == nil)
        #expect(pipeline.cache[ImageRequest("photo 7")] == nil)
        let stage = try Stage()
        stage.transport.serveOthers(.ok(FakeCodec.picture()))
        let ended = Guarded(0)
        for signature in ["e", "f"] {
            stage.pipeline.load(request(signature), on: stage.queue.callbackQueue) { _, _ in ended.withLock { $0 += 1 }
            }
        }
        #expect(stage.transport.startedURLs == ["http://a.example/7?signature=e"])
        stage.transport.finishAll()
        try await eventually("both callbacks") {
            stage.queue.runAll()
            return ended.withLock { $0 } == 2
        }
    }

    // MARK: Fallbacks

    @Test("Fallbacks are tried in order until one succeeds, and the last error is delivered")
    func fallbacks() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serveOthers { request in
            request.url.path.hasPrefix("/good") ? .ok(Bytes(String(request.url.path))) : .status(404)
        }
        let pipeline = try pipeline(transport)
        var request = ImageRequest("http://a.example/bad1")
        request.fallbacks = ["http://b.example/bad2", "not a URL", "http://c.example/good3", "http://d.example/good4"]
        let data = try await pipeline.data(for: request)
        #expect(Array(data) == Array("/good3".utf8))
        #expect(transport.startedURLs == ["http://a.example/bad1", "http://b.example/bad2", "http://c.example/good3"])
        request.fallbacks = ["http://b.example/bad2"]
        let error = await failure { _ = try await pipeline.data(for: request) }
        #expect(error?.code == .badStatus && error?.url == "http://b.example/bad2")
        request.url = "nothing like a URL"
        request.fallbacks = ["http://c.example/good3"]
        #expect(try await pipeline.data(for: request).count == 6)
        request.fallbacks = ["nothing either"]
        #expect(await failure { _ = try await pipeline.data(for: request) }?.code == .invalidURL)
    }

    @Test("Subscribers of a failed job continue with their own fallbacks, and cancelled ones do not")
    func ownFallbacks() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .status(500))
        stage.transport.serve("http://b.example/", .ok(Bytes("b")))
        stage.transport.serve("http://c.example/", .ok(Bytes("c")))
        let log = Log()
        stage.load(log: log, name: "none")
        stage.load(log: log, name: "b") { $0.fallbacks = ["http://b.example/"] }
        stage.load(log: log, name: "c") { $0.fallbacks = ["http://c.example/"] }
        let left = stage.load(log: log, name: "left") { $0.fallbacks = ["http://d.example/"] }
        left.cancel()
        while stage.transport.finishAll() > 0 {}
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["b: b", "c: c", "none: badStatus"])
        #expect(!stage.transport.startedURLs.contains("http://d.example/"))
        #expect(left.request.fallbacks == ["http://d.example/"])
    }

    /// A task executor whose jobs the test runs.
    private final class ManualTaskExecutor: TaskExecutor {
        private let jobs = Guarded<[UnownedJob]>([])

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
        }

        @discardableResult
        func runAll() -> Int {
            let ready = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in ready { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            return ready.count
        }
    }

    @Test(
        "shutdown(.finish) waits for fallbacks of running tasks, and rejects new tasks with fallbacks")
    func shutdownWaits() async throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .status(500))
        stage.transport.serve("http://b.example/", .ok(Bytes("b")))
        let log = Log()
        stage.load(log: log, name: "first") { $0.fallbacks = ["http://b.example/"] }
        let tasks = ManualTaskExecutor()
        let pipeline = stage.pipeline
        let ended = Task(executorPreference: tasks) {
            await pipeline.shutdown(.finish)
            log.add("shut")
        }
        tasks.runAll()
        stage.load(log: log, name: "second") {
            $0.url = "nothing like a URL"
            $0.fallbacks = ["http://b.example/"]
        }
        stage.transport.finish(Stage.url)
        #expect(stage.transport.startedURLs == [Stage.url, "http://b.example/"])
        // The shutdown still waits.
        #expect(tasks.runAll() == 0)
        while stage.transport.finishAll() > 0 {}
        stage.queue.runAll()
        tasks.runAll()
        await ended.value
        #expect(log.lines == ["second: shutDown", "first: b", "shut"])
    }

    @Test("Credentials and origin fields are not sent to a fallback at another origin")
    func credentials() async throws {
        let transport = ScriptedTransport(.automatic)
        let requests = Guarded([TransportRequest]())
        transport.serveOthers { request in
            requests.withLock { $0.append(request) }
            return request.url.path == "/bad" ? .status(500) : .ok(Bytes("x"))
        }
        let pipeline = try pipeline(transport)
        var request = ImageRequest("http://a.example/bad")
        request.fields = HTTPFields([("Authorization", "secret"), ("X-Plain", "1")])
        request.originFields = HTTPFields([("X-Key", "secret")])
        request.fallbacks = ["http://a.example/good"]
        _ = try await pipeline.data(for: request)
        request.fallbacks = ["http://b.example/good"]
        _ = try await pipeline.data(for: request)
        let sent = requests.withLock { $0 }.filter { $0.url.path == "/good" }
        #expect(sent.map { $0.fields["authorization"] } == ["secret", nil])
        #expect(sent.map { $0.fields["x-key"] } == ["secret", nil])
        #expect(sent.map { $0.fields["x-plain"] } == ["1", "1"])
    }
}
