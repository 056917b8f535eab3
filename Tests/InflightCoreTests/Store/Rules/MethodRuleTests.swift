import InflightCore
import InflightTestSupport
import Testing

@Suite("HTTP rules through response(for:): methods", .timeLimit(.minutes(10)))
struct MethodRuleTests {
    private static let fresh = ("Cache-Control", "max-age=60")
    private static let other = "http://a.example/other"

    /// Stores responses for both URLs, sends one request, and returns the sources of the next responses for both.
    private func after(
        _ method: String, _ status: Int, _ fields: Fields = [], other: String = MethodRuleTests.other
    ) async throws -> [String] {
        let stage = try StoreStage()
        let answer = HTTPFields(fields.map { ($0.name, $0.value) })
        stage.serve(
            StoreStage.url, StoreStage.ok("one", Self.fresh), .status(status, answer, body: Bytes("done")),
            StoreStage.ok("two", Self.fresh))
        stage.transport.serve(
            other, inOrder: [StoreStage.ok("third", Self.fresh), StoreStage.ok("fourth", Self.fresh)])
        _ = try await stage.ask()
        _ = try await stage.ask(url: other)
        let done = try await stage.ask(method: method, body: method == "TRACE" ? nil : "abc")
        #expect(done.shown == "network \(status) done")
        let shown = [try await stage.ask().source.rawValue, try await stage.ask(url: other).source.rawValue]
        await stage.end()
        return shown
    }

    @Test(
        "RFC 9111 4.4: A request with an unsafe method that succeeds invalidates its URL",
        arguments: ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "PROPPATCH", "post"], [200, 201, 204, 302, 399])
    func invalidates(method: String, status: Int) async throws {
        #expect(try await after(method, status) == ["network", "disk"])
    }

    @Test(
        "RFC 9111 4.4: A failed unsafe method and a safe method invalidate nothing",
        arguments: [
            ("POST", 400), ("PUT", 404), ("DELETE", 500), ("M-SEARCH", 503), ("OPTIONS", 200), ("TRACE", 200),
        ])
    func leaves(method: String, status: Int) async throws {
        #expect(try await after(method, status) == ["disk", "disk"])
    }

    @Test(
        "RFC 9111 4.4: An unsafe method also invalidates same-origin Location and Content-Location",
        arguments: ["POST", "PUT", "DELETE", "M-SEARCH"], ["Location", "Content-Location"])
    func invalidatesOthers(method: String, name: String) async throws {
        for reference in ["/other", "other", "http://a.example/other", "http://A.EXAMPLE:80/other#x"] {
            #expect(try await after(method, 201, [(name, reference)]) == ["network", "network"], "\(reference)")
        }
        let elsewhere = "http://b.example/other"
        for reference in [elsewhere, "//b.example/other"] {
            #expect(try await after(method, 201, [(name, reference)], other: elsewhere) == ["network", "disk"])
        }
        #expect(try await after(method, 500, [(name, "/other")]) == ["disk", "disk"])
    }

    @Test("RFC 9110 9.3.3: A POST response is stored for GET if Content-Location is its own URL")
    func post() async throws {
        for (location, isKept) in [("", true), ("/1", true), ("/2", false)] {
            let stage = try StoreStage()
            stage.serve(
                StoreStage.url, StoreStage.ok("one", Self.fresh, ("Content-Location", location)), StoreStage.ok("two"))
            _ = try await stage.ask(method: "POST", body: "12345")
            #expect(try await stage.ask().shown == (isKept ? "disk 200 one" : "network 200 two"), "\(location)")
            #expect(try await stage.ask(method: "POST", body: "12345").source == .network)
            await stage.end()
        }
    }

    @Test("RFC 9110 9.3.2: A stored GET response serves HEAD, and a HEAD response does not serve GET")
    func head() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, .status(200, StoreStage.fields([Self.fresh, ("Content-Length", "3")])),
            StoreStage.ok("one", Self.fresh, ("Content-Length", "3")))
        #expect(try await stage.ask(method: "HEAD").shown == "network 200 ")
        #expect(try await stage.ask().shown == "network 200 one")
        let head = try await stage.ask(method: "HEAD")
        #expect(head.shown == "disk 200 ")
        #expect(head.head.fields["content-length"] == "3")
        await stage.end()
    }

    /// Sends a GET that becomes stale, a HEAD whose response has `fields`, and another GET. Returns the last response
    /// and whether its request was conditional.
    private func afterHead(
        _ status: Int, _ fields: [(String, String)], stored: [(String, String)] = []
    ) async throws -> (answer: LoadedResponse, isConditional: Bool) {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url,
            StoreStage.ok(
                "one", [("Cache-Control", "max-age=1"), ("Template-A", "1"), ("Content-Length", "3")] + stored),
            .status(status, StoreStage.fields(fields)), StoreStage.ok("two", [Self.fresh]))
        _ = try await stage.ask()
        stage.clock.advance(by: .seconds(2))
        let head = try await stage.ask(method: "HEAD")
        #expect(head.head.status == status && head.source == .network)
        let answer = try await stage.ask()
        let isConditional = stage.sent.last?.fields.contains("if-none-match") == true
        await stage.end()
        return (answer, isConditional)
    }

    @Test("RFC 9111 4.3.5: A 200 to HEAD freshens the stored response and merges its fields")
    func updatedByHead() async throws {
        let updated = try await afterHead(200, [("Cache-Control", "max-age=1000"), ("Template-B", "2")]).answer
        #expect(updated.shown == "disk 200 one")
        #expect(updated.head.fields["template-a"] == "1" && updated.head.fields["template-b"] == "2")
        let replaced = try await afterHead(200, [("Cache-Control", "max-age=1000"), ("Template-A", "2")]).answer
        #expect(replaced.shown == "disk 200 one")
        #expect(replaced.head.fields.values("template-a") == ["2"])
    }

    @Test("RFC 9111 4.3.5: HEAD with another validator or length removes the response, another status does not")
    func notUpdatedByHead() async throws {
        let fresh = ("Cache-Control", "max-age=1000")
        for fields in [[fresh, ("Content-Length", "4")], [fresh, ("ETag", "\"b\"")]] {
            let removed = try await afterHead(200, fields, stored: [("ETag", "\"a\"")])
            #expect(removed.answer.shown == "network 200 two" && !removed.isConditional)
        }
        let gone = try await afterHead(410, [fresh, ("Template-A", "2")], stored: [("ETag", "\"a\"")])
        #expect(gone.answer.shown == "network 200 two" && gone.isConditional)
    }

    @Test(
        "RFC 9111 4: A method other than GET or HEAD goes to the origin",
        arguments: ["POST", "OPTIONS", "X"])
    func others(method: String) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok("one", Self.fresh), StoreStage.ok("done", Self.fresh))
        _ = try await stage.ask()
        for _ in 0..<2 { #expect(try await stage.ask(method: method).shown == "network 200 done") }
        await stage.end()
    }
}

extension StoreStage {
    fileprivate static func ok(_ text: String, _ fields: [(String, String)]) -> ScriptedTransport.Script {
        .ok(Bytes(text), fields: Self.fields(fields))
    }
}
