import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

// `RequestPlanTests` tests which parts of a request a key contains.
@Suite("Contract 8: safe keys", .timeLimit(.minutes(10)))
struct Contract8Tests {
    private func stage(_ mode: ScriptedTransport.Mode = .manual) throws -> Stage {
        let stage = try Stage(mode) { $0.fieldsExcludedFromKey = ["X-Theme"] }
        stage.transport.serve(Stage.url) { request in
            .ok(Bytes(request.fields["x-theme"] ?? "none"), fields: HTTPFields([("Vary", "Accept, X-Theme")]))
        }
        return stage
    }

    @discardableResult
    private func load(_ stage: Stage, _ theme: String, _ log: Log) -> ImageTask {
        stage.load(log: log, name: theme) { $0.fields.append("X-Theme", theme) }
    }

    @Test("Subscribers with another value of a Vary field leave the job and share a fetch of their own")
    func leaves() throws {
        let stage = try stage()
        let log = Log()
        for theme in ["dark", "light", "dark", "light"] { load(stage, theme, log) }
        #expect(stage.transport.startCount == 1)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["dark: dark", "dark: dark", "light: light", "light: light"])
        #expect(stage.transport.startCount == 2)
    }

    @Test("Subscribers that leave together share one fetch, even if the first is cancelled as it starts")
    func together() throws {
        let stage = try Stage { $0.fieldsExcludedFromKey = ["x-theme"] }
        let first = Guarded<ImageTask?>(nil)
        stage.transport.serve(Stage.url) { request in
            let theme = request.fields["x-theme"] ?? "none"
            if theme == "light" { first.withLock { $0.take() }?.cancel() }
            return .ok(Bytes(theme), fields: HTTPFields([("Vary", "X-Theme")]))
        }
        let log = Log()
        load(stage, "dark", log)
        first.withLock { $0 = load(stage, "light", log) }
        load(stage, "light", log)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(stage.transport.startCount == 2)
        #expect(stage.transport.cancelledURLs.isEmpty)
        #expect(log.lines.sorted() == ["dark: dark", "light: light"])
    }

    @Test("A fetch for a request without a Vary field is not joined by requests that have the field")
    func leavesWithoutTheField() throws {
        let stage = try stage()
        let log = Log()
        load(stage, "dark", log)
        stage.load(log: log, name: "none")
        // The head of the response makes the second subscriber leave and fetch again.
        stage.transport.step(Stage.url)
        #expect(stage.transport.startCount == 2)
        load(stage, "light", log)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["dark: dark", "light: light", "none: none"])
    }

    @Test("A prefetched response that varies is returned only for the same field value")
    func prefetched() throws {
        let stage = try stage()
        let turns = ManualQueue()
        let prefetcher = Prefetcher(
            pipeline: stage.pipeline, destination: .bytes, turn: .queue(turns.callbackQueue), limit: 1,
            endings: stage.queue.callbackQueue)
        func request(_ theme: String) -> ImageRequest {
            var request = ImageRequest(Stage.url)
            request.fields.append("X-Theme", theme)
            return request
        }
        prefetcher.start([request("dark")])
        turns.runAll()
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(prefetcher.takeResponse(for: request("light")) == nil)
        #expect(prefetcher.takeResponse(for: ImageRequest(Stage.url)) == nil)
        #expect(prefetcher.takeResponse(for: request("dark"))?.body == Bytes("dark"))
    }

    @Test("A request does not join a job whose response is known to vary by one of its fields")
    func comesLate() throws {
        let stage = try stage()
        let log = Log()
        load(stage, "dark", log)
        stage.transport.step(Stage.url)
        load(stage, "light", log)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["dark: dark", "light: light"])
    }

    @Test("A memory hit requires the same value of a Vary field, even one excluded from the key")
    func memory() async throws {
        let stage = try Stage(.automatic) { $0.fieldsExcludedFromKey = ["X-Theme"] }
        for (path, fields) in [("vary", HTTPFields([("Vary", "X-Theme")])), ("same", HTTPFields())] {
            stage.transport.serve("http://a.example/\(path)") { request in
                let width: UInt8 = request.fields["x-theme"] == "dark" ? 1 : 2
                return .ok(FakeCodec.picture(width: width), fields: fields)
            }
        }
        func width(_ path: String, _ theme: String) async throws -> Int {
            var request = ImageRequest("http://a.example/\(path)")
            request.fields.append("X-Theme", theme)
            return try await stage.pipeline.image(for: request).width
        }
        #expect(try await width("vary", "dark") == 1)
        #expect(try await width("vary", "light") == 2)
        #expect(try await width("same", "dark") == 1)
        #expect(try await width("same", "light") == 1)
    }

    @Test("`Vary: *` separates requests that differ in a field excluded from the key")
    func star() throws {
        let stage = try Stage { $0.fieldsExcludedFromKey = ["x-theme"] }
        stage.transport.serve(Stage.url) { request in
            .ok(Bytes(request.fields["x-theme"] ?? "none"), fields: HTTPFields([("Vary", "*")]))
        }
        let log = Log()
        load(stage, "dark", log)
        load(stage, "light", log)
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.sorted() == ["dark: dark", "light: light"])
    }
}
