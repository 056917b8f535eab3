import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Cookies of a pipeline", .timeLimit(.minutes(10)))
struct CookieStoreTests {
    private static let login = "http://a.example/login"
    private static let image = "http://a.example/1"
    private static let fresh = ("Cache-Control", "max-age=600")

    private static func setting(_ cookies: String...) -> ScriptedTransport.Script {
        .status(200, StoreStage.fields(cookies.map { ("Set-Cookie", $0) } + [("Cache-Control", "no-store")]))
    }

    /// A stage with a store of cookies whose images show the cookies of their request.
    private func stage(
        _ cookies: ImagePipeline.CookieStore?, change: (inout ImagePipeline.Configuration) -> Void = { _ in }
    ) throws -> StoreStage {
        let stage = try StoreStage {
            $0.cookies = cookies
            change(&$0)
        }
        stage.transport.serveOthers { [noteSent = stage.noteSent] request in
            noteSent(request)
            return StoreStage.ok("for \(request.fields["cookie"] ?? "nobody")", Self.fresh)
        }
        return stage
    }

    private func cookies(of stage: StoreStage) -> [String?] { stage.sent.map { $0.fields["cookie"] } }

    @Test("A cookie that a login sets is sent with later loads, before the caller's own, and not without a store")
    func login() async throws {
        let clock = VirtualClock()
        let cases: [(ImagePipeline.CookieStore?, String?)] = [(.init(clock: clock), "id=7"), (nil, nil)]
        for (store, sent) in cases {
            let stage = try stage(store)
            stage.serve(Self.login, Self.setting("id=7; Path=/"))
            _ = try await stage.get(Self.login)
            #expect(try await stage.data() == "for \(sent ?? "nobody")")
            #expect(
                try await stage.data { $0.fields["Cookie"] = "own=1" } == "for \(sent.map { $0 + "; " } ?? "")own=1")
            await stage.end()
        }
    }

    @Test("Every response sets cookies: errors, redirects and those of other requests of one load")
    func everyResponse() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store)
        let steps: [(String, Int, String)] = [("/e", 404, "e=1"), ("/r", 302, "r=1"), ("/x", 500, "x=1")]
        for (path, status, cookie) in steps {
            stage.serve(
                "http://a.example" + path,
                .status(status, StoreStage.fields([("Set-Cookie", cookie), ("Location", "/end")])))
            _ = try await stage.get("http://a.example" + path)
        }
        #expect(cookies(of: stage) == [nil, "e=1", "e=1; r=1", "e=1; r=1"])
        #expect(try await stage.data() == "for e=1; r=1; x=1")
        #expect(store.counts == ["a.example": 3])
        await stage.end()
    }

    @Test("Each request of a redirect chain sends the cookies of its own URL")
    func redirects() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store)
        stage.serve("http://b.example/", Self.setting("b=1"))
        stage.serve(Self.login, Self.setting("a=1"))
        for url in ["http://b.example/", Self.login] { _ = try await stage.get(url) }
        stage.serve(Self.image, .redirect(to: "http://b.example/2"))
        stage.serve("http://b.example/2", .redirect(to: "http://a.example/3"))
        #expect(try await stage.data { $0.originFields["Cookie"] = "own=1" } == "for a=1")
        #expect(cookies(of: stage) == [nil, nil, "a=1; own=1", "b=1", "a=1"])
        await stage.end()
    }

    @Test("Secure cookies are not sent over HTTP, those of a host not to another, and expired ones to nobody")
    func scope() async throws {
        let clock = VirtualClock()
        let store = ImagePipeline.CookieStore(clock: clock)
        let stage = try stage(store)
        stage.serve("https://a.example/login", Self.setting("safe=1; Secure", "short=1; Max-Age=60", "open=1"))
        _ = try await stage.get("https://a.example/login")
        stage.serve("http://a.example/login", Self.setting("safe=2", "new=1; Secure"))
        _ = try await stage.get("http://a.example/login")
        #expect(try await stage.data("http://a.example/1") == "for short=1; open=1")
        #expect(try await stage.data("https://a.example/1") == "for safe=1; short=1; open=1")
        #expect(try await stage.data("http://b.example/1") == "for nobody")
        #expect(store.counts == ["a.example": 3])
        clock.advance(by: .seconds(60))
        #expect(try await stage.data("https://a.example/2") == "for safe=1; open=1")
        #expect(store.counts == ["a.example": 2])
        await stage.end()
    }

    @Test("A domain keeps 50 cookies and a store 3,000: the oldest give way")
    func limits() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store)
        for host in 0..<61 {
            let url = "http://h\(host).example/"
            let lines = (0..<52).map { ("Set-Cookie", "c\($0)=1") }
            stage.serve(url, .status(200, StoreStage.fields(lines)))
            _ = try await stage.get(url)
        }
        #expect(store.counts.values.reduce(0, +) == 3000)
        #expect(store.counts["h0.example"] == nil && store.counts["h1.example"] == 50)
        #expect(try await stage.data("http://h9.example/x").hasPrefix("for c2=1; c3=1;"))
        await stage.end()
    }

    // MARK: Keys

    @Test("Two accounts share no image in memory and no stored response; the first finds its own again")
    func accounts() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store)
        stage.transport.serve(Self.image) { [noteSent = stage.noteSent] request in
            noteSent(request)
            let width: UInt8 = request.fields["cookie"] == "id=2" ? 2 : 1
            return .ok(FakeCodec.picture(width: width), fields: StoreStage.fields([Self.fresh]))
        }
        func logIn(_ user: Int) async throws {
            stage.serve(Self.login, Self.setting("id=\(user)"))
            _ = try await stage.get(Self.login)
        }
        try await logIn(1)
        #expect(try await stage.image().info.width == 1)
        #expect(stage.pipeline.cache[ImageRequest(Self.image)]?.source == .memory)
        try await logIn(2)
        #expect(stage.pipeline.cache[ImageRequest(Self.image)] == nil)
        #expect(await !stage.pipeline.diskCache.contains(Self.image))
        #expect(try await stage.image().info.width == 2)
        try await logIn(1)
        #expect(try await stage.image().source == .memory)
        #expect(await stage.pipeline.diskCache.contains(Self.image))
        stage.pipeline.cache.removeAll()
        let again = try await stage.image()
        #expect(again.info.width == 1 && again.source == .disk)
        #expect(cookies(of: stage).filter { $0 != nil }.count == 4, "two images, two logins after the first")
        #expect(!"\(stage.store.entries)".contains("id="), "no cookie is stored")
        await stage.end()
    }

    @Test("After removeAll no request finds results of a cookie, and a response on its way sets none")
    func removeAll() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store)
        stage.serve(Self.login, Self.setting("id=1"))
        _ = try await stage.get(Self.login)
        #expect(try await stage.data() == "for id=1")
        stage.serve("http://a.example/slow", Self.setting("id=1").stalled("slow"))
        let slow = Task { try await stage.get("http://a.example/slow") }
        try await stage.transport.waitForStarts(3)
        store.removeAll()
        stage.transport.release("slow")
        _ = try await slow.value
        #expect(store.counts.isEmpty)
        #expect(try await stage.data() == "for nobody")
        stage.serve(Self.login, Self.setting("id=1"))
        _ = try await stage.get(Self.login)
        #expect(store.counts == ["a.example": 1], "later loads set cookies again")
        await stage.end()
    }

    @Test("An image behind a redirect that was followed with another host's cookie is not kept in memory")
    func otherHost() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store)
        let picture = ScriptedTransport.Script.ok(FakeCodec.picture(), fields: StoreStage.fields([Self.fresh]))
        let redirect = StoreStage.fields([("Location", "http://b.example/1"), Self.fresh])
        stage.serve(Self.image, .status(302, redirect))
        stage.serve("http://b.example/1", picture)
        _ = try await stage.image()
        #expect(stage.pipeline.cache[ImageRequest(Self.image)] != nil)
        stage.pipeline.cache.removeAll()
        stage.serve("http://b.example/login", Self.setting("b=1; Path=/"))
        _ = try await stage.get("http://b.example/login")
        _ = try await stage.image()
        #expect(stage.pipeline.cache[ImageRequest(Self.image)] == nil)
        await stage.end()
    }

    @Test("Loads with equal cookies share a request, those with others do not")
    func coalescing() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store)
        stage.serve(Self.login, Self.setting("id=1"), Self.setting("id=2"))
        stage.transport.serve(Self.image) { [noteSent = stage.noteSent] request in
            noteSent(request)
            return StoreStage.ok("for \(request.fields["cookie"] ?? "nobody")", Self.fresh).stalled("image")
        }
        var loads: [Task<String, any Error>] = []
        for user in 1...2 {
            _ = try await stage.get(Self.login)
            loads += (0..<3).map { _ in Task { try await stage.data() } }
            try await eventually("three more tasks") { stage.pipeline.statistics.tasksInFlight == 3 * user }
        }
        try await stage.transport.waitForStarts(4)
        stage.transport.release("image")
        var texts: [String] = []
        for load in loads { texts.append(try await load.value) }
        #expect(texts == ["for id=1", "for id=1", "for id=1", "for id=2", "for id=2", "for id=2"])
        #expect(stage.sent.filter { $0.url.string == Self.image }.count == 2)
        await stage.end()
    }

    @Test("Loads whose keys leave Cookie out separate if the response varies by it")
    func varying() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let stage = try stage(store) { $0.fieldsExcludedFromKey = ["Cookie"] }
        stage.serve(Self.login, Self.setting("id=1"), Self.setting("id=2"))
        stage.transport.serve(Self.image) { [noteSent = stage.noteSent] request in
            noteSent(request)
            return StoreStage.ok("for \(request.fields["cookie"] ?? "nobody")", Self.fresh, ("Vary", "Cookie"))
                .stalled("image")
        }
        var loads: [Task<String, any Error>] = []
        for user in 1...2 {
            _ = try await stage.get(Self.login)
            loads.append(Task { try await stage.data() })
            try await eventually("another task") { stage.pipeline.statistics.tasksInFlight == user }
        }
        stage.transport.release("image")
        for (user, load) in loads.enumerated() { #expect(try await load.value == "for id=\(user + 1)") }
        await stage.end()
    }

    // MARK: Secrets

    @Test("No cookie is in an event, in the log, in an error or in a description")
    func secrets() async throws {
        let store = ImagePipeline.CookieStore(clock: VirtualClock())
        let entries = Guarded([String]())
        let observers = RecordingObservers()
        let observer = observers.observer()
        let stage = try stage(store) {
            $0.log = { entry in entries.withLock { $0.append("\(entry)") } }
            $0.observer = ImagePipeline.Observation(observer, on: observer.queue.callbackQueue)
        }
        stage.serve(Self.login, .status(302, StoreStage.fields([("Set-Cookie", "id=hidden"), ("Location", "/1")])))
        #expect(try await stage.data(Self.login) == "for id=hidden")
        stage.serve("http://a.example/gone", .status(410, StoreStage.fields([("Set-Cookie", "id=hidden")])))
        await #expect {
            _ = try await stage.data("http://a.example/gone")
        } throws: { error in
            !"\(error)".contains("hidden")
        }
        await stage.end()
        while observer.queue.count > 0 { observer.queue.runAll() }
        #expect(observer.events.count > 4 && !"\(observer.events)".contains("hidden"))
        #expect(!entries.withLock { $0 }.isEmpty && !entries.withLock { "\($0)" }.contains("hidden"))
        #expect(!"\(store)".contains("hidden"))
    }
}
