import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Order of requests and cache writes", .timeLimit(.minutes(10)))
struct OrderTests {
    private struct Late {
        let stage: StoreStage
        let store = DelayedStore()

        init() throws {
            let store = store
            stage = try StoreStage { $0.store = .shared(store) }
        }

        /// Returns the response without waiting for the store.
        func ask(_ change: (inout ImageRequest) -> Void = { _ in }) async throws -> String {
            var request = ImageRequest(StoreStage.url)
            change(&request)
            return try await stage.pipeline.response(for: request).shown
        }

        func end() async {
            await stage.end()
            await store.shutdown()
        }
    }

    @Test("A request waits for the pending write of its URL and is served from the store")
    func kept() async throws {
        let late = try Late()
        late.stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")), StoreStage.ok("two"))
        #expect(try await late.ask() == "network 200 one")
        async let second = late.ask()
        try await eventually("the load to begin") { late.stage.pipeline.statistics.tasksInFlight > 0 }
        late.store.release()
        #expect(try await second == "disk 200 one")
        #expect(late.stage.sent.count == 1)
        await late.end()
    }

    @Test("A request never gets a response whose invalidation is still pending (RFC 9111 4.4)")
    func invalidated() async throws {
        let late = try Late()
        late.stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")), StoreStage.ok("done"),
            StoreStage.ok("two"))
        _ = try await late.ask()
        late.store.release()
        await late.stage.settled()
        late.store.hold()
        #expect(try await late.ask { $0.method = "DELETE" } == "network 200 done")
        async let third = late.ask()
        try await eventually("the load to begin") { late.stage.pipeline.statistics.tasksInFlight > 0 }
        late.store.release()
        #expect(try await third == "network 200 two")
        await late.end()
    }

    @Test("A request does not wait for the pending writes of another URL")
    func others() async throws {
        let late = try Late()
        late.stage.serve(StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")))
        late.stage.serve("http://a.example/2", StoreStage.ok("two"))
        #expect(try await late.ask() == "network 200 one")
        let other = try await late.stage.pipeline.response(for: ImageRequest("http://a.example/2"))
        #expect(other.shown == "network 200 two")
        late.store.release()
        await late.end()
    }

    @Test(
        "Requests with an unsafe method are not coalesced (RFC 9111 4)", arguments: ["POST", "PUT"])
    func unsafe(method: String) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok("done").stalled("all"))
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var request = ImageRequest(StoreStage.url)
                    request.method = method
                    request.body = Bytes("x")
                    return try await stage.pipeline.response(for: request).shown
                }
            }
            try await stage.transport.waitForStarts(3, within: .seconds(50))
            stage.transport.release("all")
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "network 200 done", count: 3))
        await stage.end()
    }

    @Test("A GET with a body is neither stored nor served from the store (RFC 9110 9.3.1)")
    func body() async throws {
        let stage = try StoreStage()
        let fresh = ("Cache-Control", "max-age=60")
        stage.serve(
            StoreStage.url, StoreStage.ok("one", fresh), StoreStage.ok("two", fresh), StoreStage.ok("three", fresh))
        #expect(try await stage.get { $0.body = Bytes("q=1") }.shown == "network 200 one")
        #expect(try await stage.get().shown == "network 200 two")
        #expect(try await stage.get { $0.body = Bytes("q=1") }.shown == "network 200 three")
        #expect(try await stage.get().shown == "disk 200 two")
        await stage.end()
    }

    @Test("Trailers are delivered beside the head and are not stored (RFC 9110 6.5, RFC 9111 3.1)")
    func trailers() async throws {
        let stage = try StoreStage()
        let trailers = HTTPFields([("X-Sum", "1"), ("Cache-Control", "no-store"), ("ETag", "\"b\"")])
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("Cache-Control", "max-age=60")).trailed(by: trailers),
            StoreStage.ok("two"))
        let first = try await stage.get()
        #expect(first.trailers == trailers)
        #expect(!first.head.fields.contains("x-sum"))
        let second = try await stage.get()
        #expect(second.shown == "disk 200 one")
        #expect(second.trailers.isEmpty)
        #expect(!second.head.fields.contains("x-sum") && !second.head.fields.contains("etag"))
        await stage.end()
    }

    @Test("Trailers of a followed redirect are dropped")
    func trailersOfOthers() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, .redirect(to: "/2").trailed(by: HTTPFields([("X-Sum", "1")])))
        stage.serve("http://a.example/2", StoreStage.ok("two"))
        #expect(try await stage.get().trailers.isEmpty)
        await stage.end()
    }
}
