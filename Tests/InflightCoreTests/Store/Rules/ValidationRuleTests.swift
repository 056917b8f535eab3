import InflightCore
import InflightTestSupport
import Testing

@Suite("HTTP rules through response(for:): validation", .timeLimit(.minutes(10)))
struct ValidationRuleTests {
    private static let dayBefore = "Mon, 13 Nov 2023 22:13:20 GMT"
    private static let tag: Fields = [("ETag", "\"a\"")]
    private static let changed: Fields = [("Last-Modified", dayBefore)]

    /// A stage whose stored response has a validator, was fresh for one second, and is now stale.
    private func stale(_ fields: Fields, fresh: Fields = []) async throws -> StoreStage {
        let stage = try StoreStage()
        stage.serveValidated("one", fields + [("Cache-Control", "max-age=1")], fresh: fresh)
        #expect(try await stage.ask().shown == "network 200 one")
        stage.clock.advance(by: .seconds(2))
        return stage
    }

    @Test(
        "RFC 9111 4.3.1: A stale response is revalidated by its tag, strong or weak, or by its date",
        arguments: [
            (tag, "if-none-match", "\"a\""), ([("ETag", "W/\"a\"")], "if-none-match", "W/\"a\""),
            ([("ETag", "\"\u{fc}\"")], "if-none-match", "\"\u{fc}\""),
            (changed, "if-modified-since", dayBefore),
            (changed + tag, "if-none-match", "\"a\""), (changed + tag, "if-modified-since", dayBefore),
        ] as [(Fields, String, String)])
    func conditions(fields: Fields, name: String, value: String) async throws {
        let stage = try await stale(fields)
        #expect(try await stage.ask().shown == "revalidated 200 one")
        #expect(stage.sent.last?.fields.values(name) == [value])
        await stage.end()
    }

    @Test("RFC 9111 4.3.1: A conditional request carries the fields named by Vary")
    func selecting() async throws {
        let stage = try StoreStage()
        stage.serveValidated("one", Self.tag + [("Cache-Control", "max-age=1"), ("Vary", "Abc")])
        _ = try await stage.ask([("Abc", "123")])
        stage.clock.advance(by: .seconds(2))
        #expect(try await stage.ask([("Abc", "123")]).shown == "revalidated 200 one")
        #expect(stage.sent.last?.fields["abc"] == "123")
        await stage.end()
    }

    /// Fields that the suite http-tests/cache-tests looks for in a 304 (its `header-list`), and similar ones.
    private static let updated = [
        ("Test-Header", "a", "b"), ("X-Test-Header", "a", "b"), ("Content-Foo", "a", "b"), ("X-Content-Foo", "a", "b"),
        ("Content-Location", "/foo", "/bar"), ("Content-MD5", "rL0Y20zC+Fzt72VPzMSk2A==", "N7UdGUp1E+RbVvZSTy1R8g=="),
        ("Content-Security-Policy", "default-src 'self'", "default-src 'none'"),
        ("Clear-Site-Data", "cache", "cookies"),
        ("Content-Type", "text/plain", "text/plain;charset=utf-8"), ("Content-Language", "en", "de"),
        ("Expires", "Fri, 01 Jan 2038 01:01:01 GMT", "Mon, 11 Jan 2038 11:11:11 GMT"), ("Public-Key-Pins", "a", "b"),
        ("X-Frame-Options", "deny", "sameorigin"),
        ("X-XSS-Protection", "1", "1; mode=block"), ("Strict-Transport-Security", "max-age=1", "max-age=2"),
        ("Last-Modified", dayBefore, dayBefore), ("Link", "</a>", "</b>"),
    ]

    @Test(
        "RFC 9111 3.2: A 304 updates the delivered and the stored fields, by tag or by date", arguments: updated,
        [tag, changed] as [Fields])
    func updates(field: (name: String, old: String, new: String), validator: Fields) async throws {
        let own = validator.filter { $0.name != field.name }
        let stage = try await stale(
            own + [(field.name, field.old)],
            fresh: own + [(field.name, field.new), ("Cache-Control", "max-age=3600")])
        let second = try await stage.ask()
        #expect(second.shown == "revalidated 200 one")
        #expect(second.head.fields.values(field.name) == [field.new])
        let third = try await stage.ask()
        #expect(third.shown == "disk 200 one")
        #expect(third.head.fields.values(field.name) == [field.new])
        await stage.end()
    }

    @Test(
        "Credentials in a 304 reach the caller and are not stored (RFC 9111 7.3)",
        arguments: ["Set-Cookie", "X-Token"])
    func secret(name: String) async throws {
        let stage = try await stale(
            Self.tag + [(name, "a=b")], fresh: Self.tag + [(name, "a=c"), ("Cache-Control", "max-age=3600")])
        #expect(try await stage.ask().head.fields.values(name) == ["a=c"])
        #expect(try await stage.ask().head.fields.values(name).isEmpty)
        await stage.end()
    }

    @Test(
        "RFC 9111 3.2: A 304 changes neither body fields nor fields that it lacks",
        arguments: [
            ("Content-Length", "3", "10"), ("Content-Range", "bytes 0-2/3", "bytes 0-9/10"), ("X-Kept", "a", ""),
        ])
    func unchanged(name: String, old: String, new: String) async throws {
        let own: Fields = new.isEmpty ? [] : [(name, new)]
        let stage = try await stale(
            Self.tag + [(name, old)], fresh: Self.tag + own + [("Cache-Control", "max-age=3600")])
        for source in ["revalidated", "disk"] {
            let answer = try await stage.ask()
            #expect(answer.shown == "\(source) 200 one")
            #expect(answer.head.fields.values(name) == [old])
        }
        await stage.end()
    }

    @Test(
        "RFC 9111 3.1: Connection and proxy fields are delivered and not stored",
        arguments: [
            "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
            "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade", "Trailer", "Named",
        ])
    func connection(name: String) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url,
            StoreStage.ok("one", (name, "x"), ("Connection", "named"), ("Kept", "1"), ("Cache-Control", "max-age=60")))
        #expect(try await stage.ask().head.fields.contains(name))
        let second = try await stage.ask()
        #expect(second.shown == "disk 200 one")
        #expect(!second.head.fields.contains(name) && second.head.fields["kept"] == "1")
        await stage.end()
    }

    @Test("RFC 9111 5.2.2.4: Fields named by no-cache are delivered, not stored", arguments: ["\"a\"", "\"A, b\""])
    func noCacheNames(names: String) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url,
            StoreStage.ok(
                "one", ("A", "1"), ("C", "3"), ("Cache-Control", "no-cache=\(names)"), ("Cache-Control", "max-age=60")))
        #expect(try await stage.ask().head.fields["a"] == "1")
        stage.clock.advance(by: .seconds(1))
        let second = try await stage.ask()
        #expect(second.shown == "disk 200 one")
        #expect(!second.head.fields.contains("a") && second.head.fields["c"] == "3")
        await stage.end()
    }

    /// Conditions of a request for a response with tag `"abcdef"`, modified the day before, and the expected result.
    private static let own: [(Fields, String)] = [
        ([("If-None-Match", "\"abcdef\"")], "disk 304 "), ([("If-None-Match", "W/\"abcdef\"")], "disk 304 "),
        ([("If-None-Match", "*")], "disk 304 "), ([("If-None-Match", "\"1\"")], "disk 200 one"),
        ([("If-None-Match", "\"abcdef\", \"1\", \"2\"")], "disk 304 "),
        ([("If-None-Match", "\"1\", \"abcdef\", \"2\"")], "disk 304 "),
        ([("If-None-Match", "\"1\",\"2\" , \"abcdef\"")], "disk 304 "),
        ([("If-None-Match", "\"1\""), ("If-None-Match", "\"abcdef\"")], "disk 304 "),
        ([("If-Modified-Since", dayBefore)], "disk 304 "),
        ([("If-Modified-Since", "Mon, 13 Nov 2023 23:00:00 GMT")], "disk 304 "),
        ([("If-Modified-Since", "Monday, 13-Nov-23 22:13:20 GMT")], "disk 304 "),
        ([("If-Modified-Since", "Mon Nov 13 22:13:20 2023")], "disk 304 "),
        ([("If-Modified-Since", "Mon, 13 Nov 2023 22:13:19 GMT")], "disk 200 one"),
        ([("If-Modified-Since", "yesterday")], "disk 200 one"),
        ([("If-None-Match", "\"abcdef\""), ("If-Modified-Since", "Mon, 01 Jan 2001 00:00:00 GMT")], "disk 304 "),
        ([("If-None-Match", "\"1\""), ("If-Modified-Since", dayBefore)], "disk 200 one"),
    ]

    @Test("RFC 9111 4.3.2, RFC 9110 13: A fresh stored response evaluates the conditions of a request", arguments: own)
    func callersConditions(fields: Fields, shown: String) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url,
            StoreStage.ok(
                "one", ("ETag", "\"abcdef\""), ("Last-Modified", Self.dayBefore), ("Cache-Control", "max-age=60"),
                ("Content-Length", "3")))
        _ = try await stage.ask()
        let answer = try await stage.ask(fields)
        #expect(answer.shown == shown)
        #expect(answer.head.fields["etag"] == "\"abcdef\"")
        #expect(answer.head.fields.contains("content-length") == (answer.head.status == 200))
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    @Test("RFC 9111 4.3.2: With nothing stored, a condition goes to the origin and its 304 to the caller")
    func forwarded() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, .status(304, Self.etag), StoreStage.ok("one", ("ETag", "\"a\"")))
        let answer = try await stage.ask([("If-None-Match", "\"a\"")])
        #expect(answer.shown == "network 304 ")
        #expect(stage.sent.first?.fields.values("if-none-match") == ["\"a\""])
        #expect(stage.store.entries.isEmpty)
        await stage.end()
    }

    private static let etag = HTTPFields([("ETag", "\"a\"")])

    @Test(
        "RFC 9111 4.3.3: A caller whose condition matches gets the 304 of the revalidation",
        arguments: [
            (tag, [("If-None-Match", "\"a\"")]), (changed, [("If-Modified-Since", dayBefore)]),
        ] as [(Fields, Fields)])
    func validatedForCaller(validator: Fields, condition: Fields) async throws {
        let stage = try await stale(validator, fresh: validator)
        #expect(try await stage.ask(condition).head.status == 304)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test(
        "RFC 9110 13.1.1, 13.1.4: The origin evaluates If-Match and If-Unmodified-Since",
        arguments: ["If-Match", "If-Unmodified-Since"])
    func originsConditions(name: String) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("ETag", "\"a\""), ("Cache-Control", "max-age=60")), .status(412))
        _ = try await stage.ask()
        #expect(try await stage.ask([(name, "\"b\"")]).shown == "network 412 ")
        #expect(try await stage.ask().shown == "disk 200 one")
        await stage.end()
    }

    @Test("RFC 9111 4.3.4: A 304 with an unknown tag is followed by an unconditional request")
    func otherTag() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, StoreStage.ok("one", ("ETag", "\"a\""), ("Cache-Control", "max-age=1")),
            .status(304, HTTPFields([("ETag", "\"b\"")])), StoreStage.ok("two"))
        _ = try await stage.ask()
        stage.clock.advance(by: .seconds(2))
        #expect(try await stage.ask().shown == "network 200 two")
        #expect(stage.sent.last?.fields.contains("if-none-match") == false)
        await stage.end()
    }
}
