import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Image loader", .timeLimit(.minutes(10)))
struct ImageLoaderTests {
    private let url = LoaderStage.url
    private let other = LoaderStage.other

    @Test("A loader reports progress and the result, not the changes that its caller makes")
    func life() throws {
        let stage = try LoaderStage()
        #expect(stage.shown == "idle")
        stage.bind(url)
        #expect(stage.shown == "loading")
        #expect(stage.log.lines == [])
        stage.transport.step(url)
        stage.transport.step(url)
        stage.queue.runAll()
        #expect(stage.log.lines == ["loading 10"])
        stage.finish()
        #expect(stage.log.lines == ["loading 10", "loaded 1"])
        #expect(stage.shown == "loaded 1")
    }

    @Test("A loader shows the placeholder, the image, or on failure the failure image or placeholder")
    func pictures() throws {
        let stage = try LoaderStage()
        stage.transport.serve(other, .failure(.cannotConnect))
        let width: @Sendable (ImageLoader) -> Int? = { $0.picture?.width }
        #expect(stage.onQueue(width) == .some(nil))
        stage.onQueue { $0.placeholder = FakeCodec.pixels(width: 50, height: 1) }
        #expect(stage.onQueue(width) == 50)
        stage.bind(url)
        #expect(stage.onQueue(width) == 50)
        stage.finish()
        #expect(stage.onQueue(width) == 1)
        stage.bind(other)
        stage.finish()
        #expect(stage.shown == "failed cannotConnect")
        #expect(stage.onQueue(width) == 50)
        stage.onQueue { $0.failurePicture = FakeCodec.pixels(width: 60, height: 1) }
        #expect(stage.onQueue(width) == 60)
        #expect(stage.onQueue { $0.placeholder?.width == 50 && $0.failurePicture?.width == 60 } == true)
        stage.onQueue { $0.reset() }
        #expect(stage.onQueue(width) == 50)
    }

    @Test("An image in memory is loaded inside the call, without a callback")
    func memory() throws {
        let stage = try LoaderStage()
        stage.bind(url)
        stage.finish()
        stage.bind(other)
        stage.finish()
        let heard = stage.log.lines.count
        let url = url
        let inside = stage.onQueue { loader in
            loader.request = ImageRequest(url)
            return loader.shown
        }
        #expect(inside == "loaded 1")
        stage.finish()
        #expect(stage.log.lines.count == heard)
        #expect(stage.transport.startCount == 2)
    }

    @Test("A result already queued for a replaced request is not delivered")
    func late() throws {
        let stage = try LoaderStage()
        stage.bind(url)
        let other = other
        // The result is queued behind the call that sets another request, because it was sent before that call ran.
        stage.loader.submit { $0.request = ImageRequest(other) }
        stage.finishWork()
        #expect(stage.queue.count > 1)
        stage.queue.runAll()
        #expect(stage.log.lines == [])
        stage.finish()
        #expect(stage.log.lines.last == "loaded 2")
        #expect(!stage.log.lines.contains("loaded 1"))
    }

    @Test("A loader shows only the image of its request, in any order of results", arguments: 0..<40)
    func anyOrder(seed: UInt64) throws {
        let stage = try LoaderStage { $0.memoryCache.limit = 200 }
        var random = SeededGenerator(seed: seed)
        stage.onQueue { [log = stage.log] loader in
            loader.onChange = { loader in
                guard let url = loader.request?.url else { return log.add("told without a request") }
                if case .loaded(let image) = loader.state, "http://a.example/\(image.width)" != url {
                    log.add("shows \(image.width) for \(url)")
                }
                if case .idle = loader.state { log.add("told of idleness") }
            }
        }
        for _ in 0..<120 {
            let url = "http://a.example/\(Int.random(in: 1...4, using: &random))"
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1, 2: stage.loader.submit { $0.request = ImageRequest(url) }
            case 3: stage.loader.submit { $0.cancel() }
            case 4: stage.loader.submit { $0.start() }
            case 5: stage.loader.submit { $0.request = nil }
            case 6: stage.queue.runNext()
            case 7: stage.decodes.runAll()
            default: stage.transport.exchanges.randomElement(using: &random)?.step()
            }
        }
        stage.onQueue { $0.start() }
        stage.finish()
        #expect(stage.log.lines == [])
        let ending = stage.onQueue { loader in loader.request.map { "\($0.url): \(loader.shown)" } }
        if let ending = try #require(ending) {
            let number = try #require(ending.split(separator: ":")[1].last)
            #expect(ending.hasSuffix("loaded \(number)"))
        }
        #expect(stage.stage.pipeline.statistics.tasksInFlight == 0)
    }

    @Test("Setting an equal request starts no new load")
    func same() throws {
        let stage = try LoaderStage()
        stage.bind(url)
        stage.bind(url)
        #expect(stage.transport.startCount == 1)
        stage.finish()
        stage.onQueue { [pipeline = stage.stage.pipeline] _ in pipeline.cache.removeAll() }
        stage.bind(url)
        #expect(stage.shown == "loaded 1")
        #expect(stage.transport.startCount == 1)
        #expect(stage.log.lines.filter { $0 == "loaded 1" }.count == 1)
    }

    @Test("The same identity makes requests equal across URLs, and another identity does not")
    func identity() throws {
        let stage = try LoaderStage()
        let (url, other) = (url, other)
        func bind(_ url: String, _ identity: String) {
            stage.onQueue { loader in
                var request = ImageRequest(url)
                request.identity = identity
                loader.request = request
            }
            stage.finish()
        }
        bind(url, "photo")
        bind(other, "photo")
        #expect(stage.shown == "loaded 1")
        #expect(stage.onQueue { $0.request?.url } == other)
        bind(other, "portrait")
        #expect(stage.shown == "loaded 2")
        #expect(stage.transport.startedURLs == [url, other])
    }

    @Test("A failed request is loaded again only by start()")
    func failure() throws {
        let stage = try LoaderStage()
        stage.transport.serve(url, inOrder: [.failure(.cannotConnect), .ok(FakeCodec.picture(width: 9))])
        stage.bind(url)
        stage.finish()
        stage.bind(url)
        #expect(stage.shown == "failed cannotConnect")
        #expect(stage.transport.startCount == 1)
        stage.onQueue { $0.start() }
        stage.finish()
        #expect(stage.shown == "loaded 9")
    }

    @Test("An invalid request fails in a later callback, not inside the call")
    func invalid() throws {
        let stage = try LoaderStage()
        let inside = stage.onQueue { loader in
            loader.request = ImageRequest("nothing like a URL")
            return loader.shown
        }
        #expect(inside == "loading")
        #expect(stage.log.lines == ["failed invalidURL"])
    }

    @Test("An equal request updates the priority of the pending load")
    func priority() throws {
        let stage = try LoaderStage { $0.maximumConcurrentFetches = 1 }
        stage.stage.load("http://a.example/100")
        stage.stage.load("http://a.example/101")
        stage.bind(url, priority: .low)
        stage.bind(url, priority: .veryHigh)
        stage.finish()
        #expect(stage.transport.startedURLs == ["http://a.example/100", url, "http://a.example/101"])
        #expect(stage.transport.events.contains(.started(url, .veryHigh)))
    }

    @Test("A cancelled loader stays idle and silent until start() or the same request")
    func cancel() throws {
        let stage = try LoaderStage()
        stage.bind(url)
        stage.onQueue { $0.cancel() }
        #expect(stage.shown == "idle")
        #expect(stage.transport.cancelledURLs == [url])
        #expect(stage.onQueue { $0.request?.url } == url)
        stage.onQueue { $0.start() }
        #expect(stage.shown == "loading")
        stage.onQueue { $0.cancel() }
        #expect(stage.log.lines == [])
        stage.bind(url)
        stage.finish()
        #expect(stage.log.lines.last == "loaded 1")
        stage.onQueue { $0.cancel() }
        #expect(stage.shown == "loaded 1")
        stage.onQueue { $0.start() }
        #expect(stage.shown == "loaded 1")
    }

    @Test("Calling reset() drops request and image and keeps handler and placeholder")
    func reset() throws {
        let stage = try LoaderStage()
        stage.onQueue { $0.placeholder = FakeCodec.pixels(width: 50, height: 1) }
        stage.bind(url)
        stage.onQueue { $0.reset() }
        #expect(stage.transport.cancelledURLs == [url])
        #expect(stage.onQueue { $0.request == nil && $0.picture?.width == 50 && $0.onChange != nil } == true)
        stage.bind(url)
        stage.finish()
        stage.bind(nil)
        #expect(stage.shown == "idle")
        #expect(stage.onQueue { $0.picture?.width } == 50)
    }

    @Test("The same URL in another size reuses the fetch in flight")
    func sizes() throws {
        let stage = try LoaderStage()
        let url = url
        stage.bind(url)
        stage.onQueue { $0.request = ImageRequest(url, resize: Resize(width: 7, height: 1)) }
        #expect(stage.transport.cancelledURLs == [])
        stage.finish()
        #expect(stage.transport.startCount == 1)
        #expect(stage.log.lines.last == "loaded 7")
        #expect(stage.stage.codec.decodes.count == 1)
    }

    @Test("Processors of the loader run after those of the request, and changing them reloads")
    func processors() throws {
        let stage = try LoaderStage()
        let order = Log()
        func processor(_ name: String) -> FakeProcessor {
            FakeProcessor(
                name: name,
                onProcess: { pixels in
                    order.add(name)
                    return pixels
                })
        }
        let (own, added, changed) = (processor("own"), processor("added"), processor("changed"))
        let url = url
        stage.onQueue { loader in
            loader.processors = [ImageProcessor(added)]
            var request = ImageRequest(url)
            request.processors = [ImageProcessor(own)]
            loader.request = request
        }
        stage.finish()
        #expect(order.lines == ["own", "added"])
        stage.onQueue { $0.processors = [ImageProcessor(added)] }
        #expect(stage.shown == "loaded 1")
        stage.onQueue { $0.processors = [ImageProcessor(changed)] }
        #expect(stage.shown == "loading")
        stage.finish()
        #expect(order.lines == ["own", "added", "own", "changed"])
        #expect(stage.shown == "loaded 1")
        #expect(stage.onQueue { $0.request?.processors.count } == 1)
        #expect(stage.onQueue { $0.processors.map(\.identity) } == ["changed"])
    }

    @Test("A request for the same URL with other options is loaded again")
    func otherWay() throws {
        let stage = try LoaderStage()
        let url = url
        let changes: [@Sendable (inout ImageRequest) -> Void] = [
            { $0.cachePolicy = .refresh }, { $0.followsRedirects = false },
            { $0.checksum = Checksum("sha256:" + String(repeating: "0", count: 64)) }, { $0.identity = "other" },
            { $0.servesStaleOnDisconnect = true },
        ]
        for change in changes {
            stage.onQueue { $0.request = nil }
            stage.bind(url)
            stage.finish()
            #expect(stage.shown == "loaded 1")
            stage.onQueue {
                var request = ImageRequest(url)
                change(&request)
                $0.request = request
            }
            #expect(stage.shown == "loading")
            stage.finish()
            // An equal request starts no new load.
            stage.onQueue { loader in loader.request = loader.request }
            #expect(stage.shown != "loading")
        }
    }

    @Test("A loader whose queue dropped the result is idle, and the same request loads again")
    func dropped() throws {
        let stage = try LoaderStage()
        stage.bind(url)
        stage.transport.finishAll()
        stage.decodes.runAll()
        // Progress, then the result.
        while stage.queue.count > 0 { stage.queue.dropAll() }
        #expect(stage.shown == "idle")
        stage.bind(url)
        #expect(stage.shown == "loaded 1")
        #expect(stage.log.lines == [])
    }

    @Test("A processor may set another request while its identity is read")
    func reentrance() throws {
        let stage = try LoaderStage()
        let (loader, other) = (stage.loader, other)
        let calls = Counter()
        let strange = FakeProcessor(
            name: "strange",
            onIdentity: {
                calls.add()
                if calls.count == 1 { loader.object.request = ImageRequest(other) }
            })
        let url = url
        stage.onQueue {
            var request = ImageRequest(url)
            request.processors = [ImageProcessor(strange)]
            $0.request = request
        }
        stage.finish()
        #expect(stage.log.lines.last == "loaded 2")
        #expect(stage.stage.pipeline.statistics.tasksInFlight == 0)
    }
}
