import Testing

@testable import InflightCore

@Suite("Redirect policy", .timeLimit(.minutes(10)))
struct RedirectPolicyTests {
    private func exchange(
        _ url: String = "http://a.example/dir/1", method: String = "GET", body: Bytes? = nil, count: Int = 0
    ) throws -> RedirectPolicy.Exchange {
        let earlier = (0..<count).map {
            RedirectPolicy.Exchange.Identity(url: "http://a.example/before/\($0)", method: "GET", cookies: [])
        }
        return RedirectPolicy.Exchange(
            url: try ResourceURL(url), method: method,
            fields: HTTPFields([
                ("Authorization", "a"), ("COOKIE", "c"), ("Proxy-Authorization", "p"), ("Host", "front.example"),
                ("X-All", "1"), ("Content-Type", "text/plain"),
            ]),
            originFields: HTTPFields([("X-Own", "2")]), body: body, earlier: earlier)
    }

    private func decide(
        _ exchange: RedirectPolicy.Exchange, _ status: Int, _ location: String?
    ) -> RedirectPolicy.Decision {
        let fields = HTTPFields(location.map { [("Location", $0)] } ?? [])
        let policy = RedirectPolicy(now: WallTime(milliseconds: 0), isPublicSuffix: { _ in nil })
        return policy.decide(exchange, head: ResponseHead(status: status, fields: fields))
    }

    private func followed(_ decision: RedirectPolicy.Decision) throws -> RedirectPolicy.Exchange {
        guard case .follow(let next) = decision else {
            Issue.record("not followed: \(decision)")
            throw LoadError(.badRedirect, stage: .fetch, message: "not followed")
        }
        return next
    }

    @Test(
        "A status other than 301, 302, 303, 307 and 308 is not a redirect", arguments: [200, 300, 304, 305, 306, 404])
    func none(status: Int) throws {
        guard case .none = decide(try exchange(), status, "/2") else {
            Issue.record("\(status)")
            return
        }
    }

    @Test(
        "Location resolves against the URL of the redirecting response",
        arguments: [
            ("/2", "http://a.example/2"), ("2", "http://a.example/dir/2"), ("../2", "http://a.example/2"),
            ("?x", "http://a.example/dir/1?x"), ("//b.example/2", "http://b.example/2"),
            ("https://b.example/2#f", "https://b.example/2"), ("HTTP://B.example", "http://b.example/"),
            ("/ü x", "http://a.example/%C3%BC%20x"),
        ])
    func places(location: String, target: String) throws {
        let next = try followed(decide(try exchange(), 302, location))
        #expect(next.url.string == target)
        #expect(next.redirectCount == 1)
    }

    @Test(
        "RFC 9110 15.4: The status of a redirect decides whether its method and body are kept",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
            (308, "POST", "POST"), (301, "PUT", "PUT"), (302, "PUT", "PUT"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
            (301, "HEAD", "HEAD"), (301, "GET", "GET"), (308, "DELETE", "DELETE"),
        ])
    func methods(status: Int, before: String, after: String) throws {
        let next = try followed(decide(try exchange(method: before, body: Bytes("x")), status, "/2"))
        #expect(next.method == after)
        let losesBody = before != "GET" && after == "GET"
        #expect((next.body == nil) == losesBody)
        #expect(next.fields.contains("content-type") == !losesBody)
    }

    @Test(
        "A redirect to another origin drops credentials, the Host field and origin-specific fields",
        arguments: ["http://b.example/", "https://a.example/", "http://a.example:81/", "//b.example/"])
    func otherOrigin(location: String) throws {
        let next = try followed(decide(try exchange(), 302, location))
        for name in ["authorization", "cookie", "proxy-authorization", "host"] {
            #expect(!next.fields.contains(name), "\(name)")
        }
        #expect(next.originFields.isEmpty)
        #expect(next.fields["x-all"] == "1")
        // A redirect back to the first origin does not restore them.
        let back = try followed(decide(next, 302, "http://a.example/dir/1"))
        #expect(!back.fields.contains("authorization"))
        #expect(back.originFields.isEmpty)
    }

    @Test("A redirect to the same origin keeps credentials and fields", arguments: ["/2", "http://A.EXAMPLE:80/2"])
    func sameOrigin(location: String) throws {
        let next = try followed(decide(try exchange(), 307, location))
        #expect(next.fields["authorization"] == "a")
        #expect(next.fields["cookie"] == "c")
        #expect(next.originFields["x-own"] == "2")
    }

    @Test(
        "A missing, malformed or non-HTTP Location fails with badRedirect",
        arguments: [
            nil, "", "file:///etc/passwd", "data:image/png;base64,AA", "ftp://b.example/", "javascript:1", "http://",
            "http://b.example:0/", "/a\u{1}b", "http://b.example\\@c.example/",
        ] as [String?])
    func refused(location: String?) throws {
        guard case .refuse(let error) = decide(try exchange(), 302, location) else {
            Issue.record("followed")
            return
        }
        #expect(error.code == .badRedirect)
        #expect(error.status == 302)
        #expect(error.stage == .fetch)
        #expect(!error.description.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }

    @Test("Credentials in a Location are dropped")
    func credentialsInThePlace() throws {
        let next = try followed(decide(try exchange(), 302, "http://evil:pw@b.example/"))
        #expect(next.url.string == "http://b.example/")
        #expect(!next.fields.contains("authorization"))
        #expect(next.originFields.isEmpty)
    }
}
