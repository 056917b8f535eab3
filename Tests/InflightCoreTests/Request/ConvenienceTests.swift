import Dispatch
import FoundationEssentials
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Requests in short form", .timeLimit(.minutes(10)))
struct ConvenienceTests {
    @Test("A string literal is a request for its URL, with defaults")
    func literal() {
        let request: ImageRequest = "http://a.example/1"
        let path = "2"
        let other: ImageRequest = "http://a.example/\(path)"
        #expect(request.url == "http://a.example/1" && request.resize == nil && request.priority == .normal)
        #expect(request == ImageRequest("http://a.example/1"))
        #expect(other.url == "http://a.example/2")
    }

    @Test("An image and its bytes can be loaded by a URL, in text form or not")
    func urls() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let url = try #require(URL(string: Stage.url))
        #expect(try await stage.pipeline.image(for: Stage.url).width == 4)
        #expect(try await stage.pipeline.image(for: url).source == .memory)
        #expect(try await stage.pipeline.image(for: "http://a.example/1").source == .memory)
        #expect(try await stage.pipeline.data(for: Stage.url) == Data(FakeCodec.picture()))
        #expect(try await stage.pipeline.data(for: url).count == 10)
    }

    @Test("Every call takes a URL, a text or a request, which are the same load")
    func convertible() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let url = try #require(URL(string: Stage.url))
        let pipeline = stage.pipeline
        #expect(try await pipeline.info(for: url).info.width == 4)
        #expect(try await pipeline.response(for: url).head.status == 200)
        var iterator = pipeline.events(for: url).makeAsyncIterator()
        var last: LoadEvents.Event?
        while let event = await iterator.next() { last = event }
        let isSuccess = if case .success = last { true } else { false }
        #expect(isSuccess)
        #expect(pipeline.cache[url]?.width == 4)
        #expect(pipeline.cache[Stage.url]?.width == 4)
        #expect(pipeline.cache[ImageRequest(url)]?.width == 4)
        pipeline.cache[url] = nil
        #expect(pipeline.cache[Stage.url] == nil)
        #expect(ImageRequest(url, processors: [.grey]) == ImageRequest(Stage.url, processors: [.grey]))
    }

    @Test("A malformed URL or text fails with invalidURL, and is not in the cache", arguments: ["", "no url", "/1"])
    func malformed(text: String) async throws {
        let stage = try Stage(.automatic)
        let pipeline = stage.pipeline
        #expect(pipeline.cache[text] == nil)
        let error = await #expect(throws: LoadError.self) { try await pipeline.image(for: text) }
        #expect(error?.code == .invalidURL)
        if let url = URL(string: text) {
            let error = await #expect(throws: LoadError.self) { try await pipeline.response(for: url) }
            #expect(error?.code == .invalidURL)
        }
        let end = Promise<LoadError.Code?>()
        pipeline.load(text, on: stage.queue.callbackQueue) { result in
            guard case .failure(let error) = result else { return end.set(nil) }
            end.set(error.code)
        }
        try await stage.queue.waitForWork()
        stage.queue.runAll()
        #expect(try await end.value == .invalidURL)
    }

    @Test("Completions and progress without the task get the same values")
    func completions() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let queue = DispatchQueue(label: "callbacks")
        let (image, response, main) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
        let progress = Promise<Int64>()
        stage.pipeline.load(Stage.url, on: queue) {
            progress.set($0.receivedBytes)
        } completion: { result in
            dispatchPrecondition(condition: .onQueue(queue))
            image.set((try? result.get().width) ?? 0)
        }
        #expect(try await image.value == 4)
        #expect(try await progress.value == 10)
        stage.pipeline.loadResponse(Stage.url, on: .queue(queue)) { result in
            response.set((try? result.get().body.count) ?? 0)
        }
        #expect(try await response.value == 10)
        stage.pipeline.load(Stage.url, on: .main) { result in
            MainActor.assertIsolated()
            main.set((try? result.get().width) ?? 0)
        }
        #expect(try await main.value == 4)
    }

    @Test("A completion without the task is not called after a cancel")
    func cancelledCompletion() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let task = stage.pipeline.load(Stage.url, on: stage.queue.callbackQueue) { _ in
            Issue.record("called after the cancel")
        }
        task.cancel()
        await stage.pipeline.shutdown(.finish)
        stage.queue.runAll()
        #expect(task.isCancelled)
    }

    @Test("A loader and a prefetcher take a URL or a text")
    func loaderAndPrefetcher() async throws {
        let stage = try Stage(.automatic) { $0.clock = SystemClock() }
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let url = try #require(URL(string: Stage.url))
        let prefetcher = Prefetcher(pipeline: stage.pipeline, destination: .memory, turn: .time(.zero))
        prefetcher.start([Stage.url, ""])
        prefetcher.start([url])
        await prefetcher.waitUntilIdle()
        #expect(prefetcher.statistics.loaded == 1 && prefetcher.statistics.failed == 1)
        await show(url, in: stage)
    }

    @MainActor private func show(_ url: URL, in stage: Stage) {
        let loader = ImageLoader(pipeline: stage.pipeline, callbackQueue: .main)
        loader.load(url)
        #expect(loader.request == ImageRequest(Stage.url))
        let isLoaded = if case .loaded = loader.state { true } else { false }
        #expect(isLoaded)
        loader.load("")
        #expect(loader.request?.url == "")
    }

    @Test("Callbacks run on a dispatch queue that is passed as it is")
    func dispatchQueue() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture()))
        let queue = DispatchQueue(label: "callbacks")
        let end = Promise<Bool>()
        stage.pipeline.load(ImageRequest(Stage.url), on: queue) { _, result in
            dispatchPrecondition(condition: .onQueue(queue))
            end.set((try? result.get()) != nil)
        }
        #expect(try await end.value)
    }

    @Test("Setting a header field by subscript replaces all fields with its name, and nil removes them")
    func fields() {
        var request = ImageRequest("http://a.example/1")
        request.fields["Accept"] = "image/png"
        request.fields.append("accept", "image/jpeg")
        #expect(request.fields.values("Accept") == ["image/png", "image/jpeg"])
        request.fields["ACCEPT"] = "image/webp"
        #expect(request.fields.values("Accept") == ["image/webp"])
        request.fields["accept"] = nil
        #expect(request.fields.isEmpty)
    }

    @Test("Only a cancelled load's error is a cancellation")
    func cancellation() {
        #expect(LoadError.cancelled(url: nil, stage: .fetch).isCancellation)
        #expect(!LoadError(.timedOut, stage: .fetch, message: "The request timed out.").isCancellation)
    }

    @Test("File name extensions name formats, whatever their case")
    func fileExtensions() {
        #expect(ImageFormat(fileExtension: "JPG") == .jpeg)
        #expect(ImageFormat(fileExtension: "tif") == .tiff)
        #expect(ImageFormat(fileExtension: "txt") == nil)
        #expect(ImageFormat(fileExtension: "") == nil)
        for format: ImageFormat in [.jpeg, .png, .webp, .gif, .avif, .jpegXL, .heic, .bmp] {
            #expect(ImageFormat(fileExtension: format.fileExtension) == format)
        }
    }
}
