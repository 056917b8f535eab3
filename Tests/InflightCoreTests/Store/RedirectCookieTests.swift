import InflightCore
import InflightTestSupport
import Testing

@Suite("Cookies of redirects", .timeLimit(.minutes(10)))
struct RedirectCookieTests {
    private static let url = StoreStage.url
    private static let other = "http://a.example/dir/2"
    private static let fresh = ("Cache-Control", "max-age=600")

    private static func redirect(
        to location: String, setting cookies: [String], _ fields: (String, String)...
    ) -> ScriptedTransport.Script {
        .status(302, StoreStage.fields([("Location", location)] + cookies.map { ("Set-Cookie", $0) } + fields))
    }

    private func error(_ load: () async throws -> String) async -> LoadError? {
        do {
            Issue.record("no error, but \(try await load())")
            return nil
        } catch {
            return error as? LoadError
        }
    }

    @Test("A cookie that a redirect to its own URL sets is sent with the next request, and forgotten after the load")
    func redirectToItself() async throws {
        let stage = try StoreStage()
        stage.transport.serve(Self.url) { [noteSent = stage.noteSent] request in
            noteSent(request)
            return request.fields["cookie"] == "seen=1"
                ? StoreStage.ok("image") : Self.redirect(to: Self.url, setting: ["seen=1; Path=/"])
        }
        #expect(try await stage.data() == "image")
        #expect(stage.sent.map { $0.fields["cookie"] } == [nil, "seen=1"])
        #expect(try await stage.data { $0.cachePolicy = .reload } == "image")
        #expect(stage.sent.map { $0.fields["cookie"] } == [nil, "seen=1", nil, "seen=1"])
        await stage.end()
    }

    /// A redirect that sets a cookie, the URL that it leads to, and the cookies sent there.
    struct Case: CustomTestStringConvertible, Sendable {
        var from = "http://www.a.example/dir/1"
        var cookie: String
        var to = "http://www.a.example/dir/2"
        var isSent: Bool

        var testDescription: String { "\(from) sets \(cookie.prefix(80)), then \(to)" }

        init(_ cookie: String, from: String = "http://www.a.example/dir/1", to: String, _ isSent: Bool) {
            (self.cookie, self.from, self.to, self.isSent) = (cookie, from, to, isSent)
        }

        init(_ cookie: String, _ isSent: Bool) { (self.cookie, self.isSent) = (cookie, isSent) }

        static let long = String(repeating: "v", count: 4095)
        static let secure = "https://www.a.example/dir/1"

        static let all: [Case] = [
            // RFC 6265 5.1.4: paths.
            Case("c=1", true), Case("c=1", to: "http://www.a.example/dir/sub/2?q", true),
            Case("c=1", to: "http://www.a.example/", false), Case("c=1", to: "http://www.a.example/directory", false),
            Case("c=1; Path=/", to: "http://www.a.example/x", true),
            Case("c=1; path=/x", to: "http://www.a.example/x", true),
            Case("c=1; Path=/x", to: "http://www.a.example/x/1", true),
            Case("c=1; Path=/x/", to: "http://www.a.example/x/1", true),
            Case("c=1; Path=/x/", to: "http://www.a.example/x", false),
            Case("c=1; Path=/x", to: "http://www.a.example/xy", false),
            Case("c=1; Path=x", true), Case("c=1; Path", true),
            // RFC 6265 5.1.3: hosts. Without a list of public suffixes, a cookie stays with its host.
            Case("c=1; Path=/", to: "http://www.a.example:8080/", true),
            Case("c=1; Path=/", to: "http://b.a.example/", false), Case("c=1; Path=/", to: "http://a.example/", false),
            Case("c=1; Path=/", to: "http://x.www.a.example/", false),
            Case("c=1; Domain=a.example", true), Case("c=1; Domain=.A.EXAMPLE", true),
            Case("c=1; Domain=a.example; Path=/", to: "http://b.a.example/", false),
            Case("c=1; Domain=b.example", false), Case("c=1; Domain=www.a.example.", false),
            Case("c=1; Domain=x.www.a.example", false), Case("c=1; Domain=w.a.example", false),
            Case("c=1; Domain=", true), Case("c=1; Domain=.", true), Case("c=1; Domain=\u{FF}", false),
            Case("c=1; Domain=127.0.0.1", from: "http://127.0.0.1/1", to: "http://127.0.0.1/2", true),
            Case("c=1; Domain=0.0.1", from: "http://127.0.0.1/1", to: "http://127.0.0.1/2", false),
            Case("c=1", from: "http://[::1]/1", to: "http://[::1]/2", true),
            // Secure cookies.
            Case("c=1; Secure", from: Self.secure, to: "https://www.a.example/dir/2", true),
            Case("c=1; Secure", from: Self.secure, to: "http://www.a.example/dir/2", false),
            Case("c=1", from: Self.secure, to: "http://www.a.example/dir/2", true),
            Case("c=1; Secure", to: "https://www.a.example/dir/2", false), Case("c=1; secure=no", false),
            Case("__Host-c=1; Secure; Path=/", from: Self.secure, to: "https://www.a.example/dir/2", true),
            Case("__Host-c=1; Secure", from: Self.secure, to: "https://www.a.example/dir/2", false),
            Case("__Secure-c=1", false), Case("__secure-c=1", false),
            // Expiry.
            Case("c=1; Max-Age=1", true), Case("c=1; Max-Age=0", false), Case("c=1; Max-Age=-1", false),
            Case("c=1; Max-Age=99999999999999999999", true), Case("c=1; Max-Age=soon", true),
            Case("c=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT", false), Case("c=1; Expires=never", true),
            Case("c=1; Expires=Tue, 14 Nov 2023 22:13:20 GMT", false),
            Case("c=1; Expires=Tue, 14 Nov 2023 22:13:21 GMT", true), Case("c=1; Expires=1 jan 24 1:2:3", true),
            Case("c=1; Expires=1 jan 70 1:2:3", false),
            Case("c=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9", true),
            // Malformed ones, and the limit of 4 KiB for name and value.
            Case("c", false), Case("=1", false), Case("", false), Case(";", false), Case("c=", true),
            Case("c=a\u{0}b", false), Case("c=1; Path=/\u{1}", false), Case("c=\u{7F}", false), Case("c=a\tb", true),
            Case("c=" + long, true), Case("cc=" + long, false),
            Case("c=1; Path=/" + String(repeating: "p", count: 1024), true), Case("c=1; HttpOnly; SameSite=None", true),
        ]
    }

    @Test("A cookie is sent only where its host, path, security and expiry allow", arguments: Case.all)
    func rules(_ rule: Case) async throws {
        let stage = try StoreStage()
        stage.serve(rule.from, Self.redirect(to: rule.to, setting: [rule.cookie]))
        stage.serve(rule.to, StoreStage.ok("image"))
        #expect(try await stage.data(rule.from) == "image")
        let sent = try #require(stage.sent.last)
        let pair = rule.cookie.split(separator: ";").first.map(String.init)
        #expect(sent.fields.values("cookie") == (rule.isSent ? [pair ?? ""] : []))
        await stage.end()
    }

    @Test("Cookies are replaced, expire and are sent in one field, longer paths first, before the caller's own")
    func several() async throws {
        let stage = try StoreStage()
        let first = ["a=1; Path=/", "gone=1; Path=/", "b=1; Path=/dir"]
        let second = ["a=2; Path=/", "gone=; Path=/; Max-Age=0", "late=1; Path=/; Max-Age=9"]
        stage.serve(Self.url, Self.redirect(to: Self.other, setting: first))
        stage.serve(Self.other, Self.redirect(to: "/dir/3", setting: second))
        stage.transport.serve("http://a.example/dir/3") { [noteSent = stage.noteSent, clock = stage.clock] request in
            noteSent(request)
            clock.advance(by: .seconds(9))
            return Self.redirect(to: "/dir/4", setting: [])
        }
        stage.serve("http://a.example/dir/4", StoreStage.ok("image"))
        #expect(try await stage.data { $0.fields.append("Cookie", "own=1") } == "image")
        #expect(
            stage.sent.map { $0.fields.values("cookie") } == [
                ["own=1"], ["b=1; a=1; gone=1; own=1"], ["b=1; a=2; late=1; own=1"], ["b=1; a=2; own=1"],
            ])
        await stage.end()
    }

    @Test("The caller's cookies and the cookies of a host never follow a redirect to another host")
    func otherHost() async throws {
        let stage = try StoreStage()
        let far = "http://b.example/2"
        stage.serve(Self.url, Self.redirect(to: far, setting: ["a=1; Path=/"]))
        stage.serve(far, Self.redirect(to: Self.other, setting: ["b=1; Path=/"]))
        stage.serve(Self.other, StoreStage.ok("image"))
        #expect(try await stage.data { $0.originFields.append("Cookie", "own=1") } == "image")
        #expect(stage.sent.map { $0.fields.values("cookie") } == [["own=1"], [], ["a=1"]])
        await stage.end()
    }

    @Test("Of a flood of cookies, a load keeps the latest 50")
    func flood() async throws {
        let stage = try StoreStage()
        stage.serve(Self.url, Self.redirect(to: "/2", setting: (0..<5000).map { "c\($0)=\(Case.long.dropLast(9))" }))
        stage.serve("http://a.example/2", StoreStage.ok("image"))
        #expect(try await stage.data() == "image")
        let sent = try #require(stage.sent.last?.fields["cookie"])
        let names = sent.split(separator: "; ").map { String($0.prefix { $0 != "=" }) }
        #expect(names == (4950..<5000).map { "c\($0)" })
        await stage.end()
    }

    @Test("A response over HTTP does not replace a Secure cookie")
    func secureStays() async throws {
        let stage = try StoreStage()
        let (first, second, last) = ("https://a.example/1", "http://a.example/2", "https://a.example/3")
        stage.serve(first, Self.redirect(to: second, setting: ["a=1; Secure"]))
        stage.serve(second, Self.redirect(to: last, setting: ["a=2", "b=2"]))
        stage.serve(last, StoreStage.ok("image"))
        #expect(try await stage.data(first) == "image")
        #expect(stage.sent.map { $0.fields["cookie"] } == [nil, nil, "a=1; b=2"])
        await stage.end()
    }

    @Test("Tasks that share a load share its cookies")
    func sharing() async throws {
        let stage = try StoreStage()
        stage.serve(Self.url, Self.redirect(to: "/2", setting: ["a=1"]).stalled("first"))
        stage.serve("http://a.example/2", StoreStage.ok("image"))
        let loads = (0..<3).map { _ in Task { try await stage.data() } }
        try await eventually("three tasks") { stage.pipeline.statistics.tasksInFlight == 3 }
        stage.transport.release("first")
        for load in loads { #expect(try await load.value == "image") }
        #expect(stage.sent.map { $0.fields["cookie"] } == [nil, "a=1"])
        await stage.end()
    }

    // MARK: Loops

    @Test("A redirect to the same request, cookies included, is reported as a loop at once")
    func loop() async throws {
        let stage = try StoreStage()
        stage.serve(Self.url, Self.redirect(to: "/1#again", setting: []))
        let plain = await error { try await stage.data() }
        #expect(plain?.code == .badRedirect)
        #expect(plain?.message.contains("loop") == true && plain?.message.contains("maximumRedirects") == false)
        #expect(stage.sent.count == 1)
        // The second response sets the same cookie again.
        stage.serve(Self.url, Self.redirect(to: "/1", setting: ["a=1; Max-Age=60"]))
        #expect(await error { try await stage.data() }?.code == .badRedirect)
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    @Test("Redirects in a circle are followed back to the first request, and reported when they repeat")
    func circle() async throws {
        let stage = try StoreStage()
        stage.serve(Self.url, .redirect(to: "/2"))
        stage.serve("http://a.example/2", .redirect(to: "/1"))
        #expect(await error { try await stage.data() }?.message.contains("loop") == true)
        #expect(stage.sent.map(\.url.path) == ["/1", "/2", "/1"])
        // The second request may have changed what the first URL responds.
        stage.serve(Self.url, .redirect(to: "/2"), StoreStage.ok("image"))
        #expect(try await stage.data() == "image")
        await stage.end()
    }

    @Test("A stored redirect that closes a circle is removed, so that the next load asks the server")
    func storedLoop() async throws {
        let stage = try StoreStage()
        stage.serve(Self.url, Self.redirect(to: "/1?", setting: [], Self.fresh), StoreStage.ok("image"))
        stage.serve("http://a.example/1?", .redirect(to: "/1"), StoreStage.ok("image"))
        #expect(await error { try await stage.data() }?.code == .badRedirect)
        #expect(try await stage.data() == "image")
        await stage.end()
    }

    // MARK: The store

    @Test("A redirect is stored unless the load sends its cookie, at once or later")
    func storedRedirects() async throws {
        let stage = try StoreStage()
        let (second, third) = ("http://a.example/2", "http://a.example/c/3")
        stage.serve(Self.url, Self.redirect(to: second, setting: ["a=1; Path=/unused"], Self.fresh))
        stage.serve(second, Self.redirect(to: third, setting: [], Self.fresh))
        stage.serve(third, StoreStage.ok("image", Self.fresh))
        for _ in 0..<2 { #expect(try await stage.data() == "image") }
        #expect(stage.sent.count == 3)
        // The cookie of the first redirect is sent with the third request.
        let later = try StoreStage()
        later.serve(Self.url, Self.redirect(to: second, setting: ["a=1; Path=/c"], Self.fresh))
        later.serve(second, Self.redirect(to: third, setting: [], Self.fresh))
        later.serve(third, StoreStage.ok("image", Self.fresh))
        for _ in 0..<2 { #expect(try await later.data() == "image") }
        #expect(later.sent.map(\.url.path) == ["/1", "/2", "/c/3", "/1"])
        #expect(Set(later.store.entries.map(\.response.url)) == [second, third])
        // The cookie of the second redirect is sent at once.
        let soon = try StoreStage()
        soon.serve(Self.url, Self.redirect(to: second, setting: [], Self.fresh))
        soon.serve(second, Self.redirect(to: third, setting: ["a=1; Path=/"], Self.fresh))
        soon.serve(third, StoreStage.ok("image", Self.fresh))
        for _ in 0..<2 { #expect(try await soon.data() == "image") }
        #expect(soon.sent.map(\.url.path) == ["/1", "/2", "/c/3", "/2"])
        for stage in [stage, later, soon] { await stage.end() }
    }

    @Test("A response to a request with a cookie is stored and selected as if the caller had set Cookie")
    func selection() async throws {
        let stage = try StoreStage()
        let target = "http://a.example/2"
        let redirects = ["user=1", "user=2"].map { Self.redirect(to: target, setting: [$0]) }
        stage.serve(Self.url, redirects)
        stage.transport.serve(target) { [noteSent = stage.noteSent] request in
            noteSent(request)
            return StoreStage.ok("for \(request.fields["cookie"] ?? "all")", Self.fresh)
        }
        #expect(try await stage.data() == "for user=1")
        #expect(try await stage.data(target) == "for all")
        #expect(try await stage.data(target) { $0.fields.append("Cookie", "user=1") } == "for user=1")
        #expect(stage.sent.count == 3)
        #expect(try await stage.data() == "for user=2")
        #expect(stage.sent.count == 5)
        #expect(!stage.store.entries.contains { "\($0.response)".contains("user=") }, "no cookie is stored")
        await stage.end()
    }

    @Test("A 304 to a stored redirect may set the cookie that the next request needs")
    func revalidatedRedirect() async throws {
        let stage = try StoreStage()
        let (tag, stale) = (("ETag", "\"1\""), ("Cache-Control", "max-age=1"))
        stage.serve(
            Self.url, Self.redirect(to: "/2", setting: [], tag, stale),
            .status(304, StoreStage.fields([tag, stale, ("Set-Cookie", "a=1")])))
        stage.serve("http://a.example/2", StoreStage.ok("image", ("Cache-Control", "no-store")))
        #expect(try await stage.data() == "image")
        stage.clock.advance(by: .seconds(10))
        #expect(try await stage.data() == "image")
        #expect(stage.sent.map { $0.fields["cookie"] } == [nil, nil, nil, "a=1"])
        #expect(stage.store.entries.isEmpty, "the redirect cannot be followed without its cookie")
        await stage.end()
    }
}
