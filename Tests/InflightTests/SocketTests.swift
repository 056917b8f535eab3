import Dispatch
import Inflight
import InflightConcurrency
import InflightTestSupport
import Testing

@Suite("Pipeline over real sockets", .timeLimit(.minutes(10)))
struct SocketTests {
    private func pipeline(_ change: (inout ImagePipeline.Configuration) -> Void = { _ in }) throws -> ImagePipeline {
        var configuration = ImagePipeline.Configuration()
        change(&configuration)
        return try ImagePipeline(configuration: configuration)
    }

    private let queue = DispatchQueue(label: "callbacks")

    @Test("A queued request that is raised is sent before the others")
    func raising() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serveOthers { _ in .ok(Bytes("x")) }
        server.serve("/first", .ok(Bytes("x")).held("first"))
        let pipeline = try pipeline { $0.maximumConcurrentFetches = 1 }
        let arrivals = (0..<5).map { _ in ValueBridge<Bool>() }
        var tasks: [ImageTask] = []
        for (index, path) in ["/first", "/a", "/b", "/c", "/d"].enumerated() {
            tasks.append(
                pipeline.loadResponse(.patient(server.url(path)), on: .queue(queue)) { _, result in
                    arrivals[index].open(with: (try? result.get()) != nil)
                })
            // The others are made after the server has received the first, so that the order is deterministic.
            if index == 0 { try await server.waitForRequest("/first", within: .seconds(50)) }
        }
        tasks[3].priority = .veryHigh
        server.release("first")
        for arrival in arrivals { #expect(await arrival.value()) }
        #expect(server.requests.map(\.path) == ["/first", "/c", "/a", "/b", "/d"])
    }

    @Test("A transfer is closed when the last of three subscribers cancels, and not before")
    func lastOneOut() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/slow", .ok(Bytes([UInt8](repeating: 1, count: 1000))).held("half", after: 500))
        let pipeline = try pipeline()
        let tasks = (0..<3).map { _ in
            pipeline.loadResponse(.patient(server.url("/slow")), on: .queue(queue)) { _, _ in
                Issue.record("a cancelled task was told something")
            }
        }
        try await server.waitUntilHeld("half", within: .seconds(50))
        tasks[0].cancel()
        tasks[1].cancel()
        // Another exchange completes on the same event loop: a cancelled transfer would have been closed by now.
        server.serve("/other", .ok(Bytes("x")))
        _ = try await pipeline.response(for: .patient(server.url("/other")))
        #expect(!server.events.contains { $0.kind == .closedByPeer })
        tasks[2].cancel()
        try await server.waitUntilClosedByPeer("/slow", within: .seconds(50))
        #expect(server.requestCount(of: "/slow") == 1)
        #expect(tasks.allSatisfy { $0.isCancelled })
        await pipeline.shutdown(.finish)
    }

    @Test("Progress is delivered while the server holds back the second half")
    func progress() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/slow", .ok(Bytes([UInt8](repeating: 1, count: 1000))).held("half", after: 500))
        let pipeline = try pipeline()
        let half = ValueBridge<ImageTask.Progress>()
        let end = ValueBridge<Int>()
        pipeline.loadResponse(.patient(server.url("/slow")), on: .queue(queue)) { _, progress in
            if progress.receivedBytes == 500 { half.open(with: progress) }
        } completion: { _, result in
            end.open(with: (try? result.get().body.count) ?? 0)
        }
        let progress = await half.value()
        #expect(progress == ImageTask.Progress(receivedBytes: 500, expectedBytes: 1000))
        server.release("half")
        #expect(await end.value() == 1000)
    }

    @Test("A hundred concurrent tasks in two sizes are coalesced into one request")
    func sharing() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/a.jpg", .ok(try Pictures.jpeg(), type: "image/jpeg").held("all"))
        let pipeline = try pipeline()
        let url = server.url("/a.jpg")
        let sources = try await withThrowingTaskGroup(of: LoadSource.self) { group in
            for index in 0..<100 {
                group.addTask {
                    let size = index.isMultiple(of: 2) ? Resize(width: 16) : Resize(width: 32)
                    return try await pipeline.image(for: .patient(url, resize: size)).source
                }
            }
            try await server.waitUntilHeld("all", within: .seconds(50))
            try await eventually("all loads to wait") { pipeline.statistics.tasksInFlight == 100 }
            server.release("all")
            return try await group.reduce(into: [LoadSource]()) { $0.append($1) }
        }
        #expect(server.requestCount == 1)
        #expect(sources.filter { $0 == .network }.count == 1)
        #expect(sources.filter { $0 == .shared }.count == 99)
        #expect(pipeline.cache[.patient(url, resize: Resize(width: 16))]?.source == .memory)
        #expect(pipeline.cache[.patient(url, resize: Resize(width: 17))] == nil)
    }

    @Test("A new task sends its own request while the job for its URL is being cancelled")
    func newcomer() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/a", inOrder: [.ok(Bytes("old")).held("old"), .ok(Bytes("new"))])
        let pipeline = try pipeline()
        let task = pipeline.loadResponse(.patient(server.url("/a")), on: .queue(queue)) { _, _ in }
        try await server.waitUntilHeld("old", within: .seconds(50))
        task.cancel()
        let reply = try await pipeline.response(for: .patient(server.url("/a")))
        #expect(reply.body == Bytes("new"))
    }

    @Test("Redirects are followed, and credentials are dropped when the origin changes")
    func redirects() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        defer {
            server.stop()
            other.stop()
        }
        server.serve("/start", .redirect(to: "/next"))
        server.serve("/next", .redirect(to: other.url("/end?x=1"), status: 307))
        other.serve("/end", .ok(Bytes("there")))
        let pipeline = try pipeline()
        var request = ImageRequest.patient(server.url("/start").replacing("http://", with: "http://me:secret@"))
        request.fields = HTTPFields([("X-Everywhere", "1"), ("Cookie", "c=1")])
        request.originFields = HTTPFields([("X-Mine", "2")])
        let reply = try await pipeline.response(for: request)
        #expect(reply.body == Bytes("there"))
        #expect(reply.url == other.url("/end?x=1"))
        #expect(reply.redirectCount == 2)
        let near = try #require(server.requests(of: "/next").first).fields
        #expect(near["authorization"] == "Basic bWU6c2VjcmV0")
        #expect(near["x-mine"] == "2")
        #expect(near["cookie"] == "c=1")
        let far = try #require(other.requests.first).fields
        #expect(far["authorization"] == nil)
        #expect(far["x-mine"] == nil)
        #expect(far["cookie"] == nil)
        #expect(far["x-everywhere"] == "1")
    }

    @Test("A cookie for a domain reaches its hosts; one for a public suffix or another host is ignored")
    func domainCookies() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let cookies = [
            "shared=1; Domain=site.localhost; Path=/", "suffix=1; Domain=localhost; Path=/",
            "foreign=1; Domain=other.localhost; Path=/", "own=1; Path=/",
        ]
        server.serve(
            "/start",
            cookies.reduce(.redirect(to: server.url("/next", host: "b.site.localhost"))) { $0.field("Set-Cookie", $1) })
        server.serve("/next", .redirect(to: server.url("/end", host: "other.localhost")))
        server.serve("/end", .redirect(to: server.url("/back", host: "a.site.localhost")))
        server.serve("/back", .ok(Bytes("image")))
        let pipeline = try pipeline()
        let reply = try await pipeline.response(for: .patient(server.url("/start", host: "a.site.localhost")))
        #expect(reply.body == Bytes("image"))
        #expect(server.requests.map { $0.fields["cookie"] } == [nil, "shared=1", nil, "shared=1; own=1"])
    }

    @Test("The cookie of a login is sent with later loads, of a later pipeline too, and never to another host")
    func login() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let directory = TemporaryDirectory()
        server.serve("/login", .ok(Bytes("in")).field("Set-Cookie", "id=1; Path=/; Max-Age=600; HttpOnly"))
        server.serve("/image", .ok(Bytes("image")))
        for isFirst in [true, false] {
            let store = try ImagePipeline.CookieStore(file: directory.appending("cookies.txt"))
            let pipeline = try pipeline { $0.cookies = store }
            if isFirst { _ = try await pipeline.response(for: .patient(server.url("/login", host: "a.localhost"))) }
            for host in ["a.localhost", "b.localhost"] {
                _ = try await pipeline.response(for: .patient(server.url("/image", host: host)))
            }
            await pipeline.shutdown(.finish)
        }
        #expect(server.requests(of: "/image").map { $0.fields["cookie"] } == ["id=1", nil, "id=1", nil])
    }

    @Test("Content codings are negotiated and decoded, also if the caller sets Accept-Encoding")
    func contentCodings() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let coded = Gzip.zeros(runs: 100)
        server.serve("/coded", .ok(Bytes(coded)).field("Content-Encoding", "gzip"))
        server.serve("/unknown", .ok(Bytes("uryyb")).field("Content-Encoding", "rot13"))
        let pipeline = try pipeline()

        let plain = try await pipeline.response(for: .patient(server.url("/coded")))
        #expect(plain.body.count == 1 + 258 * 100)
        #expect(plain.wireBytes == Int64(coded.count))
        #expect(server.requests.last?.fields["accept-encoding"] == "gzip, deflate, br, zstd")

        var own = ImageRequest.patient(server.url("/coded"))
        own.fields.append("Accept-Encoding", "gzip;q=0.5")
        #expect(try await pipeline.response(for: own).body == plain.body)
        #expect(Bytes(try await pipeline.data(for: own)) == plain.body)
        #expect(server.requests.last?.fields.values("accept-encoding") == ["gzip;q=0.5"])

        // A body with an unknown coding is delivered as it is.
        #expect(try await pipeline.response(for: .patient(server.url("/unknown"))).body == Bytes("uryyb"))
        #expect(Bytes(try await pipeline.data(for: .patient(server.url("/unknown")))) == Bytes("uryyb"))
        await pipeline.shutdown(.finish)
    }

    @Test("An info request reads no more of an image than its header")
    func info() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        let picture = try Pictures.jpeg(width: 640, height: 480)
        // The rest is never sent, so a load that needs it would not end.
        server.serve("/a.jpg", .ok(picture, type: "image/jpeg").held("never", after: 2000))
        let pipeline = try pipeline()
        let info = try await pipeline.info(for: .patient(server.url("/a.jpg")))
        #expect(info.info.width == 640)
        #expect(info.info.height == 480)
        #expect(info.info.format == .jpeg)
        #expect(info.contentLength == Int64(picture.count))
        #expect(info.readBytes <= 2000)
    }

    @Test("Requests are not coalesced if the response varies by a field excluded from the key")
    func vary() async throws {
        let server = try LoopbackServer()
        defer { server.stop() }
        server.serve("/a") { request in
            .ok(Bytes(request.fields["x-theme"] ?? "")).field("Vary", "X-Theme").held("a")
        }
        server.serve("/b") { request in .ok(Bytes(request.fields["x-theme"] ?? "")).held("b") }
        let pipeline = try pipeline { $0.fieldsExcludedFromKey = ["X-Theme"] }
        func load(_ path: String, _ theme: String) async throws -> Bytes {
            var request = ImageRequest.patient(server.url(path))
            request.fields.append("X-Theme", theme)
            return try await pipeline.response(for: request).body
        }
        async let darkA = load("/a", "dark")
        async let lightA = load("/a", "light")
        try await eventually("both loads to wait") { pipeline.statistics.tasksInFlight == 2 }
        server.release("a")
        #expect(try await darkA == Bytes("dark"))
        #expect(try await lightA == Bytes("light"))
        async let darkB = load("/b", "dark")
        async let lightB = load("/b", "light")
        try await eventually("both loads to wait") { pipeline.statistics.tasksInFlight == 2 }
        server.release("b")
        #expect(try await darkB == lightB)
        #expect(server.requestCount(of: "/b") == 1)
    }
}
