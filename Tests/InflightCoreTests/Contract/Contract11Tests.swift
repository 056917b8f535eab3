import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Contract 11: limits", .timeLimit(.minutes(10)))
struct Contract11Tests {
    @Test("Concurrent fetches reach the total and the per-origin limit, and never exceed them")
    func concurrency() throws {
        let stage = try Stage {
            $0.maximumConcurrentFetches = 5
            $0.maximumConcurrentFetchesPerOrigin = 2
        }
        stage.transport.serveOthers(.ok(Bytes("x")))
        let log = Log()
        for host in ["a", "b", "c", "d"] {
            for index in 0..<10 { stage.load("http://\(host).example/\(index)", log: log) }
        }
        var most: [String: Int] = [:]
        while stage.transport.liveCount > 0 {
            let hosts = stage.transport.exchanges.map { $0.request.url.origin?.host ?? "" }
            for (host, live) in Dictionary(grouping: hosts, by: { $0 }) {
                most[host] = max(most[host] ?? 0, live.count)
            }
            stage.transport.exchanges.first?.step()
        }
        stage.queue.runAll()
        #expect(log.lines.count == 40)
        #expect(stage.transport.maximumLiveCount == 5)
        #expect(most.values.allSatisfy { $0 == 2 })
    }

    @Test(
        "Loads below normal priority leave slots of their origin free for a visible image",
        arguments: [(1, 1), (2, 1), (3, 2), (6, 5), (8, 6)], [ImageRequest.Priority.veryLow, .low])
    func reserveOfOrigin(_ bounds: (places: Int, belowNormal: Int), priority: ImageRequest.Priority) throws {
        let stage = try Stage { $0.maximumConcurrentFetchesPerOrigin = bounds.places }
        stage.transport.serveOthers(.ok(Bytes("x")))
        let log = Log()
        for index in 0..<20 { stage.load("http://a.example/\(index)", priority: priority, log: log) }
        #expect(stage.transport.liveCount == bounds.belowNormal)
        stage.load("http://a.example/visible", priority: .normal, log: log)
        let isStarted = stage.transport.startedURLs.contains("http://a.example/visible")
        #expect(isStarted == (bounds.places > bounds.belowNormal))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.count == 21)
    }

    @Test("Loads below normal priority leave a quarter of an HTTP/2 origin's streams free")
    func reserveOfStreams() throws {
        let stage = try Stage {
            $0.maximumConcurrentFetches = 100
            $0.maximumStreamsPerOrigin = 16
        }
        stage.transport.serveOthers(.response(ResponseHead(status: 200, version: .http2), Bytes("x")))
        for index in 0..<30 { stage.load("http://a.example/\(index)", priority: .veryLow) }
        #expect(stage.transport.liveCount == 5)
        // The first head shows that the origin speaks HTTP/2.
        stage.transport.step("http://a.example/0")
        #expect(stage.transport.liveCount == 12)
        for index in 0..<9 { stage.load("http://a.example/visible\(index)", priority: .high) }
        #expect(stage.transport.liveCount == 16)
        stage.transport.finishAll()
        stage.queue.runAll()
    }

    @Test("A redirect frees its slot and counts against the limit of the target origin")
    func redirectTarget() throws {
        let stage = try Stage { $0.maximumConcurrentFetchesPerOrigin = 1 }
        stage.transport.serve("http://b.example/busy", .ok(Bytes("busy")))
        stage.transport.serve("http://a.example/1", .redirect(to: "http://b.example/target"))
        stage.transport.serve("http://b.example/target", .ok(Bytes("target")))
        stage.transport.serve("http://a.example/2", .ok(Bytes("second")))
        let log = Log()
        stage.load("http://b.example/busy", log: log)
        stage.load("http://a.example/1", log: log)
        stage.load("http://a.example/2", log: log)
        stage.transport.finish("http://a.example/1")
        // The slot at a is free for the next fetch; the one at b is still taken.
        #expect(stage.transport.startedURLs.last == "http://a.example/2")
        #expect(stage.transport.liveCount == 2)
        stage.transport.finish("http://b.example/busy")
        #expect(stage.transport.startedURLs.last == "http://b.example/target")
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["end: busy", "end: second", "end: target"])
    }

    @Test("A redirect that waits for a slot keeps the rest of its total time")
    func timeInTheLane() throws {
        let stage = try Stage { $0.maximumConcurrentFetchesPerOrigin = 1 }
        stage.transport.serve("http://b.example/busy", .ok(Bytes("busy")))
        stage.transport.serve(Stage.url, .redirect(to: "http://b.example/target"))
        stage.transport.serve("http://b.example/target", .ok(Bytes("target")))
        let log = Log()
        stage.load("http://b.example/busy", log: log)
        stage.load(log: log) { $0.limits.totalTimeout = .seconds(5) }
        stage.clock.advance(by: .seconds(1))
        stage.transport.finish(Stage.url)
        stage.clock.advance(by: .seconds(60))
        #expect(stage.clock.timerCount == 0)
        stage.transport.finish("http://b.example/busy")
        stage.clock.advance(by: .milliseconds(3999))
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.clock.advance(by: .milliseconds(1))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["end: busy", "end: timedOut"])
    }

    @Test("A redirected transfer has the rest of the total time, and no timer is left")
    func timeLeft() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .redirect(to: "http://b.example/target"))
        stage.transport.serve("http://b.example/target", .ok(Bytes("x")))
        stage.load { $0.limits.totalTimeout = .seconds(5) }
        stage.clock.advance(by: .seconds(2))
        stage.transport.finish(Stage.url)
        stage.clock.advance(by: .milliseconds(2999))
        #expect(stage.transport.cancelledURLs.isEmpty)
        stage.clock.advance(by: .milliseconds(1))
        #expect(stage.transport.cancelledURLs == ["http://b.example/target"])
        stage.transport.finishAll()
        #expect(stage.clock.timerCount == 0)
    }

    @Test("A timeout error states the configured limit, not the time left after a redirect")
    func namedLimit() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .redirect(to: "http://b.example/target"))
        stage.transport.serve("http://b.example/target", .failure(.timedOut))
        var request = ImageRequest(Stage.url)
        request.limits.totalTimeout = .seconds(3)
        let log = Log()
        stage.pipeline.loadResponse(request, on: stage.queue.callbackQueue) { _, result in
            if case .failure(let error) = result { log.add(error.message) }
        }
        stage.clock.advance(by: .milliseconds(2984))
        stage.transport.finish(Stage.url)
        stage.clock.advance(by: .milliseconds(16))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["The request timed out after 3 s. Raise totalTimeout, or try again later."])
    }

    @Test("A redirect after a timeout or a cancel is not followed and leaves no job or timer")
    func redirectTooLate() throws {
        for isCancelled in [true, false] {
            let stage = try Stage()
            stage.transport.serve(Stage.url, .redirect(to: "http://b.example/target"))
            let log = Log()
            let task = stage.load(log: log) { $0.limits.totalTimeout = .seconds(5) }
            stage.transport.step(Stage.url)
            if isCancelled { task.cancel() } else { stage.clock.advance(by: .seconds(5)) }
            stage.transport.finish(Stage.url)
            stage.queue.runAll()
            #expect(log.lines == (isCancelled ? [] : ["end: timedOut"]))
            #expect(stage.clock.timerCount == 0)
            #expect(stage.transport.startCount == 1)
            #expect(stage.pipeline.statistics.jobsInFlight == 0)
        }
    }

    @Test("A cancel at once removes a redirect that waits for a slot")
    func cancelledInTheLane() throws {
        let stage = try Stage { $0.maximumConcurrentFetchesPerOrigin = 1 }
        stage.transport.serve("http://b.example/busy", .silent)
        stage.transport.serve(Stage.url, .redirect(to: "http://b.example/target"))
        stage.load("http://b.example/busy")
        let task = stage.load { $0.limits.totalTimeout = .seconds(5) }
        stage.transport.finish(Stage.url)
        #expect(stage.pipeline.statistics.jobsInFlight == 2)
        task.cancel()
        #expect(stage.pipeline.statistics.jobsInFlight == 1)
    }

    @Test("Time in the queue does not count towards the total timeout")
    func waitingIsFree() throws {
        let stage = try Stage { $0.maximumConcurrentFetches = 1 }
        stage.transport.serveOthers(.ok(Bytes("x")))
        let log = Log()
        stage.load("http://a.example/0")
        stage.load(log: log) { $0.limits.totalTimeout = .seconds(5) }
        stage.clock.advance(by: .seconds(60))
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines == ["end: x"])
    }

    @Test("Redirects are followed up to the limit, and one more fails with badRedirect", arguments: [0, 1, 3])
    func redirects(limit: Int) throws {
        let stage = try Stage()
        for index in 0..<5 {
            stage.transport.serve("http://a.example/\(index)", .redirect(to: "/\(index + 1)"))
            stage.transport.serve("http://a.example/end\(index)", .redirect(to: "/end\(index + 1)"))
        }
        stage.transport.serve("http://a.example/end5", .ok(Bytes("there")))
        let log = Log()
        stage.load("http://a.example/end\(5 - limit)", log: log) { $0.limits.maximumRedirects = limit }
        stage.load("http://a.example/0", log: log, name: "long") { $0.limits.maximumRedirects = limit }
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["end: there", "long: badRedirect"])
    }

    @Test("The transport receives the limits of the request; the total time is the engine's own matter")
    func handedOn() throws {
        let stage = try Stage()
        stage.transport.serve(Stage.url, .silent)
        stage.load { request in
            request.limits.maximumBodyBytes = 17
            request.limits.connectTimeout = .seconds(1)
            request.limits.stallTimeout = nil
            request.limits.totalTimeout = .seconds(9)
        }
        let limits = try #require(stage.transport.exchanges.first).request.limits
        #expect(limits.maximumBodyBytes == 17)
        #expect(limits.connectTimeout == .seconds(1))
        #expect(limits.stallTimeout == nil)
        #expect(limits.totalTimeout == nil)
        #expect(limits.maximumHeadBytes == 256 * 1024)
    }

    @Test("An image with more pixels than its request allows is rejected before it is decoded")
    func pixels() async throws {
        let stage = try Stage(.automatic)
        stage.transport.serve(Stage.url, .ok(FakeCodec.picture(width: 10, height: 10)))
        for (limit, isAllowed) in [(99, false), (100, true)] {
            var request = ImageRequest(Stage.url)
            request.limits.maximumPixels = limit
            let result: LoadError.Code?
            do throws(LoadError) {
                _ = try await stage.pipeline.image(for: request)
                result = nil
            } catch {
                result = error.code
            }
            #expect(result == (isAllowed ? nil : .tooManyPixels))
        }
        #expect(stage.codec.decodes.count == 1)
    }
}
