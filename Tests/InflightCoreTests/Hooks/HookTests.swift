import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Hooks", .timeLimit(.minutes(10)))
struct HookTests {
    private static let other = "http://b.example/2"

    private func pipeline(
        _ transport: ScriptedTransport, clock: VirtualClock = VirtualClock(),
        change: (inout ImagePipeline.Configuration) -> Void
    ) throws -> ImagePipeline {
        var configuration = ImagePipeline.Configuration(
            transports: [.shared(transport)], codecs: CodecRegistry([FakeCodec()]))
        configuration.clock = clock
        configuration.memoryCache.reactsToMemoryPressure = false
        change(&configuration)
        return try ImagePipeline(configuration: configuration)
    }

    private func text(_ pipeline: ImagePipeline, _ url: String = Stage.url) async throws -> String {
        String(decoding: try await pipeline.response(for: ImageRequest(url)).body.array, as: UTF8.self)
    }

    private func code(_ pipeline: ImagePipeline, _ request: ImageRequest) async -> LoadError? {
        do throws(LoadError) {
            _ = try await pipeline.data(for: request)
        } catch {
            return error
        }
        return nil
    }

    // MARK: willSend

    @Test("willSend runs for each redirect, and fields it added are not sent to the next origin")
    func willSend() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url) { .redirect(to: Self.other + "?" + ($0.fields["x-proof"] ?? "none")) }
        transport.serveOthers { .ok(Bytes($0.fields["x-proof"] ?? "none")) }
        let asked = Log()
        let pipeline = try pipeline(transport) {
            $0.willSend = { request in
                asked.add("\(request.method) \(request.url) \(request.reason == .first)")
                if request.url.origin?.host == "a.example" { request.fields.set("X-Proof", "mine") }
            }
        }
        #expect(try await text(pipeline) == "none")
        #expect(asked.lines == ["GET \(Stage.url) true", "GET \(Self.other)?mine true"])
    }

    @Test("A URL that willSend signs is sent, and everything else names the URL before")
    func signed() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url + "?signature=1", .ok(Bytes("in")))
        transport.serve(Self.other + "?signature=1", .failure(.connectionLost))
        let (log, store) = (Log(), MemoryStore())
        let pipeline = try pipeline(transport) {
            $0.store = .shared(store)
            $0.log = { entry in log.add(entry.fields.map { "\($0.name) \($0.value)" }.joined(separator: " ")) }
            $0.willSend = { $0.url = try ResourceURL($0.url.string + "?signature=1") }
        }
        let response = try await pipeline.response(for: ImageRequest(Stage.url))
        #expect(response.shown == "network 200 in" && response.url == Stage.url)
        let error = await code(pipeline, ImageRequest(Self.other))
        #expect(error?.code == .connectionLost && error?.url == Self.other)
        #expect(transport.startedURLs == [Stage.url, Self.other].map { $0 + "?signature=1" })
        await pipeline.shutdown(.finish)
        #expect(store.entries.map(\.response.url) == [Stage.url])
        #expect(!log.lines.isEmpty && !log.lines.contains { $0.contains("signature") })
        await store.shutdown()
    }

    @Test("Hooks and the log get the request's userInfo, which separates no requests")
    func userInfo() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url, .ok(Bytes("in")))
        let (hooks, log) = (Log(), Log())
        let pipeline = try pipeline(transport) {
            $0.willSend = { hooks.add("send \($0.userInfo)") }
            $0.didReceive = {
                hooks.add("receive \($0.userInfo)")
                return .byStatus
            }
            $0.log = { entry in log.add(entry.fields.map { "\($0.name) \($0.value)" }.joined(separator: " ")) }
        }
        var request = ImageRequest(Stage.url)
        request.userInfo = ["view": "list"]
        #expect(await code(pipeline, request) == nil)
        #expect(hooks.lines == ["send [\"view\": \"list\"]", "receive [\"view\": \"list\"]"])
        #expect(log.lines.contains { $0.hasSuffix("view list") })
    }

    @Test("Requests whose signed URLs would differ are coalesced")
    func signedOnce() async throws {
        let transport = ScriptedTransport(.manual)
        transport.serveOthers(.ok(Bytes("in")))
        let (count, log, queue) = (Counter(), Log(), ManualQueue())
        let pipeline = try pipeline(transport) {
            $0.willSend = { request in
                count.add()
                request.url = try ResourceURL(request.url.string + "?n=\(count.count)")
            }
        }
        for _ in 0..<2 {
            pipeline.loadResponse(ImageRequest(Stage.url), on: queue.callbackQueue) { _, result in
                log.add(result.shown)
            }
        }
        try await transport.waitForStarts(1, within: .seconds(50))
        transport.finishAll()
        try await queue.waitForWork(2, within: .seconds(50))
        queue.runAll()
        #expect(log.lines == ["in", "in"] && transport.startedURLs == [Stage.url + "?n=1"])
    }

    @Test("A redirect starts from the signed URL, and its refusal does not show it")
    func signedRedirect() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve("http://a.example/signed/1", .redirect(to: "2"))
        transport.serve("http://a.example/signed/signed/2", .redirect(to: ""))
        let pipeline = try pipeline(transport) {
            $0.willSend = {
                $0.url = try ResourceURL($0.url.string.replacing("a.example/", with: "a.example/signed/"))
            }
        }
        var request = ImageRequest(Stage.url)
        request.limits.maximumRedirects = 1
        let error = await code(pipeline, request)
        #expect(error?.code == .badRedirect && error?.url == "http://a.example/signed/2")
        #expect(transport.startedURLs == ["http://a.example/signed/1", "http://a.example/signed/signed/2"])
    }

    @Test("With a URL of another origin, nothing is sent", arguments: [other, "https://a.example/1", "data:,x"])
    func signedForAnother(url: String) async throws {
        let transport = ScriptedTransport(.automatic)
        let pipeline = try pipeline(transport) { $0.willSend = { $0.url = try ResourceURL(url) } }
        let error = await code(pipeline, ImageRequest(Stage.url))
        #expect(error?.code == .invalidRequest && error?.url == Stage.url)
        #expect(transport.startCount == 0)
    }

    @Test("willSend is called once more after a 401, with the rejected fields, and never a third time")
    func unauthorized() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url) { $0.fields["x-proof"] == "new" ? .ok(Bytes("in")) : .status(401) }
        transport.serve(Self.other) { _ in .status(401) }
        let asked = Log()
        let pipeline = try pipeline(transport) {
            $0.willSend = { request in
                switch request.reason {
                case .first: request.fields.set("X-Proof", "old")
                case .unauthorized(let head, let sent):
                    asked.add("\(head.status) \(sent["x-proof"] ?? "nothing")")
                    request.fields.set("X-Proof", "new")
                }
            }
        }
        #expect(try await text(pipeline) == "in")
        #expect(asked.lines == ["401 old"])
        let error = await code(pipeline, ImageRequest(Self.other))
        #expect(error?.code == .badStatus && error?.status == 401)
        #expect(transport.startedURLs == [Stage.url, Stage.url, Self.other, Self.other])
    }

    @Test("An error thrown by willSend fails the load, and nothing is sent")
    func willSendFails() async throws {
        struct NoToken: Error {}
        let transport = ScriptedTransport(.automatic)
        let pipeline = try pipeline(transport) { $0.willSend = { _ in throw NoToken() } }
        let error = await code(pipeline, ImageRequest(Stage.url))
        #expect(error?.code == .extensionFailed)
        #expect(error?.underlying is NoToken)
        #expect(error?.url == Stage.url)
        #expect(transport.startCount == 0)
    }

    @Test("A load cancelled during willSend sends nothing and frees its slot when willSend returns")
    func cancelledInWillSend() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serveOthers(.ok(Bytes("x")))
        let (entered, mayReturn) = (Bridge(), Bridge())
        let pipeline = try pipeline(transport) {
            $0.maximumConcurrentFetches = 1
            $0.willSend = { request in
                guard request.url.string == Stage.url else { return }
                entered.open()
                // The hook ignores its cancellation.
                await mayReturn.wait()
                if !Task.isCancelled { Issue.record("the hook's task was not cancelled") }
            }
        }
        let queue = ManualQueue()
        let heard = Log()
        let task = pipeline.loadResponse(ImageRequest(Stage.url), on: .executor(queue)) { _, _ in heard.add("first") }
        await entered.wait()
        task.cancel()
        pipeline.loadResponse(ImageRequest(Self.other), on: .executor(queue)) { _, _ in heard.add("second") }
        #expect(transport.startCount == 0)
        mayReturn.open()
        try await queue.waitForWork()
        queue.runAll()
        #expect(heard.lines == ["second"])
        #expect(transport.startedURLs == [Self.other])
    }

    @Test("The total timeout includes the time spent in willSend")
    func late() async throws {
        let transport = ScriptedTransport(.automatic)
        let clock = VirtualClock()
        let pipeline = try pipeline(transport, clock: clock) {
            $0.willSend = { _ in
                clock.advance(by: .seconds(5))
                try Task.checkCancellation()
            }
        }
        var request = ImageRequest(Stage.url)
        request.limits.totalTimeout = .seconds(3)
        #expect(await code(pipeline, request)?.code == .timedOut)
        #expect(transport.startCount == 0)
    }

    @Test("Requests after willSend and after a 401 are sent with the current priority")
    func priority() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url, inOrder: [.status(401), .ok(Bytes("x"))])
        let (entered, mayReturn) = (Bridge(), Bridge())
        let pipeline = try pipeline(transport) {
            $0.willSend = { request in
                guard case .first = request.reason else { return }
                entered.open()
                await mayReturn.wait()
            }
        }
        let queue = ManualQueue()
        let heard = Log()
        let task = pipeline.loadResponse(ImageRequest(Stage.url, priority: .low), on: .executor(queue)) { _, _ in
            heard.add("ended")
        }
        await entered.wait()
        task.priority = .veryHigh
        mayReturn.open()
        try await queue.waitForWork()
        queue.runAll()
        #expect(heard.lines == ["ended"])
        let started = transport.events.compactMap { event -> ImageRequest.Priority? in
            if case .started(_, let priority) = event { priority } else { nil }
        }
        #expect(started == [.veryHigh, .veryHigh])
    }

    // MARK: didReceive

    @Test("A total timeout that expires during didReceive fails with timedOut, not cancelled")
    func lateVerdict() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url, .ok(Bytes("x")))
        let clock = VirtualClock()
        let pipeline = try pipeline(transport, clock: clock) {
            $0.didReceive = { _ in
                clock.advance(by: .seconds(5))
                try Task.checkCancellation()
                return .byStatus
            }
        }
        var request = ImageRequest(Stage.url)
        request.limits.totalTimeout = .seconds(3)
        #expect(await code(pipeline, request)?.code == .timedOut)
    }

    @Test("didReceive accepts, refuses or rewrites a response, and .byStatus changes nothing")
    func didReceive() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serveOthers { request in
            .status(request.url.path.hasSuffix("404") ? 404 : 200, body: Bytes("body"))
        }
        let pipeline = try pipeline(transport) {
            $0.didReceive = { received in
                switch received.url.path.split(separator: "-").first {
                case "/accept": return .accept
                case "/refuse": return .refuse("Not today.")
                case "/rewrite":
                    var head = received.head
                    head.status = head.status == 404 ? 200 : 404
                    head.fields.set("X-Seen", "yes")
                    return .rewrite(head)
                default: return .byStatus
                }
            }
        }
        func end(_ path: String) async throws -> String {
            var request = ImageRequest("http://a.example/" + path)
            request.limits.totalTimeout = nil
            let error = await code(pipeline, request)
            return error.map { "\($0.code) \($0.status ?? 0)" } ?? "body"
        }
        #expect(try await end("accept-404") == "body")
        #expect(try await end("byStatus-404") == "badStatus 404")
        #expect(try await end("byStatus-200") == "body")
        #expect(try await end("refuse-200") == "refused 200")
        #expect(try await end("rewrite-404") == "body")
        #expect(try await end("rewrite-200") == "badStatus 404")
        let response = try await pipeline.response(for: ImageRequest("http://a.example/rewrite-404"))
        #expect(response.head.fields["x-seen"] == "yes")
        #expect(transport.violations.isEmpty)
    }

    @Test("A transfer pauses while didReceive runs, and its end is delivered afterwards")
    func endsMeanwhile() async throws {
        let transport = ScriptedTransport(.manual)
        transport.serve(Stage.url, .ok(Bytes("0123456789")).failing(.truncated, after: 5))
        let (entered, mayReturn) = (Bridge(), Bridge())
        let pipeline = try pipeline(transport) {
            $0.didReceive = { _ in
                entered.open()
                await mayReturn.wait()
                return .byStatus
            }
        }
        let queue = ManualQueue()
        let log = Log()
        let task = pipeline.loadResponse(ImageRequest(Stage.url), on: .executor(queue)) { _, progress in
            log.add("\(progress.receivedBytes)")
        } completion: { _, result in
            log.add(result.shown)
        }
        transport.finishAll()
        await entered.wait()
        transport.finishAll()
        #expect(queue.count == 0)
        mayReturn.open()
        // The exchange resumes when the hook has returned. It cannot be stepped before.
        try await transport.wait(for: .resumed(Stage.url))
        transport.finishAll()
        try await queue.waitForWork()
        queue.runAll()
        #expect(log.lines.last == "truncated")
        _ = task
    }

    @Test("An error thrown by didReceive fails the load")
    func didReceiveFails() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serveOthers(.ok(Bytes("x")))
        let pipeline = try pipeline(transport) {
            $0.didReceive = { _ in throw LoadError(.damaged, stage: .fetch, message: "I know that one.") }
        }
        #expect(await code(pipeline, ImageRequest(Stage.url))?.code == .damaged)
    }

    // MARK: log

    @Test("The log records exchanges, redirects and failures without passwords or control characters")
    func log() async throws {
        let transport = ScriptedTransport(.automatic)
        transport.serve(Stage.url, .redirect(to: Self.other))
        transport.serve(Self.other, .status(500))
        let entries = Guarded([ImagePipeline.LogEntry]())
        let pipeline = try pipeline(transport) { $0.log = { entry in entries.withLock { $0.append(entry) } } }
        _ = await code(pipeline, ImageRequest("http://me:hunter2@a.example/1"))
        let heard = entries.withLock { $0 }
        #expect(
            heard.map(\.message).sorted() == [
                "exchange started", "exchange started", "job failed", "redirected", "task added",
            ])
        #expect(heard.first { $0.message == "job failed" }?.level == .error)
        #expect(heard.allSatisfy { !$0.description.contains("hunter2") })
        #expect(ImagePipeline.LogEntry(.trace, "m", [("a", "x\u{1B}[2Jy")]).description == "m a=x[2Jy")
    }
}
