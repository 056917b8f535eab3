import InflightCore
import InflightTestSupport
import Testing

@Suite("HTTP rules through response(for:): partial responses", .timeLimit(.minutes(10)))
struct PartRuleTests {
    private static let fresh = (name: "Cache-Control", value: "max-age=60")
    private static let tag = (name: "ETag", value: "\"a\"")
    private static let whole = "0123456789A"

    private static func part(
        _ text: String, _ range: String, _ fields: Fields = [fresh, tag]
    ) -> ScriptedTransport.Script {
        .status(
            206, StoreStage.fields(fields.map { ($0.name, $0.value) } + [("Content-Range", "bytes \(range)")]),
            body: Bytes(text))
    }

    @Test(
        "RFC 9110 15.3.7: A complete stored response serves range requests without a fetch",
        arguments: [
            ("bytes=0-1", "206 01", "bytes 0-1/11"), ("bytes=1-", "206 123456789A", "bytes 1-10/11"),
            ("bytes=-1", "206 A", "bytes 10-10/11"), ("bytes=-99", "206 0123456789A", "bytes 0-10/11"),
            ("bytes=9-99", "206 9A", "bytes 9-10/11"), ("BYTES=0-0", "206 0", "bytes 0-0/11"),
            ("bytes=11-", "416 ", "bytes */11"), ("bytes=-0", "416 ", "bytes */11"),
            ("bytes=0-1,3-4", "200 0123456789A", nil), ("pages=0-1", "200 0123456789A", nil),
            ("bytes=2-1", "200 0123456789A", nil), ("bytes=x-1", "200 0123456789A", nil),
        ] as [(String, String, String?)])
    func ofWhole(range: String, shown: String, contentRange: String?) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, StoreStage.ok(Self.whole, ("Cache-Control", "max-age=60"), ("A", "1")))
        _ = try await stage.ask()
        stage.clock.advance(by: .seconds(1))
        let answer = try await stage.ask([("Range", range)])
        #expect(answer.shown == "disk \(shown)")
        #expect(answer.head.fields["content-range"] == contentRange)
        #expect(answer.head.fields["a"] == "1" && answer.head.fields["age"] == "1")
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    @Test(
        "RFC 9110 13.1.5: A range with If-Range is served only if a strong validator matches",
        arguments: [
            ("\"a\"", "206 01"), ("\"b\"", "200 0123456789A"), ("W/\"a\"", "200 0123456789A"),
            ("Mon, 13 Nov 2023 22:13:20 GMT", "206 01"), ("Mon, 13 Nov 2023 22:13:21 GMT", "200 0123456789A"),
        ])
    func ifRange(value: String, shown: String) async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url,
            StoreStage.ok(
                Self.whole, ("Cache-Control", "max-age=60"), ("ETag", "\"a\""),
                ("Last-Modified", "Mon, 13 Nov 2023 22:13:20 GMT")))
        _ = try await stage.ask()
        #expect(try await stage.ask([("Range", "bytes=0-1"), ("If-Range", value)]).shown == "disk \(shown)")
        await stage.end()
    }

    @Test(
        "RFC 9111 3.3: A partial response is stored and serves the ranges within it",
        arguments: [
            ("bytes=-5", "disk 206 56789"), ("bytes=6-8", "disk 206 678"), ("bytes=6-", "disk 206 6789"),
            ("bytes=-1", "disk 206 9"), ("bytes=4-8", "network 200 all"), (nil, "network 200 all"),
        ] as [(String?, String)], [[fresh], [fresh, tag]] as [Fields])
    func ofPart(asked: (range: String?, shown: String), fields: Fields) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, Self.part("56789", "5-9/10", fields), StoreStage.ok("all"))
        #expect(try await stage.ask([("Range", "bytes=-5")]).shown == "network 206 56789")
        let second = try await stage.ask(asked.range.map { [("Range", $0)] } ?? [])
        #expect(second.shown == asked.shown)
        await stage.end()
    }

    @Test("RFC 9111 3.4: The missing rest of a stored part is fetched and combined with it")
    func completed() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, Self.part("01234", "0-4/10"),
            Self.part("56789", "5-9/10", [Self.fresh, Self.tag, ("A", "2")]))
        _ = try await stage.ask([("Range", "bytes=0-4")])
        let whole = try await stage.ask()
        #expect(whole.shown == "network 200 0123456789")
        #expect(stage.sent.last?.fields["range"] == "bytes=5-")
        #expect(stage.sent.last?.fields["if-range"] == "\"a\"")
        #expect(whole.head.fields["a"] == "2")
        #expect(try await stage.ask().shown == "disk 200 0123456789")
        await stage.end()
    }

    @Test(
        "RFC 9111 3.4: Parts without a strong validator are not combined",
        arguments: [[fresh], [fresh, ("ETag", "W/\"a\"")]] as [Fields])
    func notJoined(fields: Fields) async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, Self.part("01234", "0-4/10", fields), StoreStage.ok("all"))
        _ = try await stage.ask([("Range", "bytes=0-4")])
        #expect(try await stage.ask().shown == "network 200 all")
        #expect(stage.sent.last?.fields.contains("range") == false)
        await stage.end()
    }

    @Test("RFC 9110 15.3.7.3: A 206 with another tag is not combined with the stored part")
    func changed() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, Self.part("01234", "0-4/10"),
            Self.part("56789", "5-9/10", [Self.fresh, ("ETag", "\"b\"")]),
            StoreStage.ok("all"))
        _ = try await stage.ask([("Range", "bytes=0-4")])
        #expect(try await stage.ask().shown == "network 200 all")
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    @Test("RFC 9111 3.3: Adjacent parts are combined, and a part with a wrong Content-Range is not stored")
    func touching() async throws {
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url, Self.part("012", "0-2/10"), Self.part("345", "3-5/10"), Self.part("67", "6-9/10"),
            StoreStage.ok("all"))
        for range in ["0-2", "3-5", "6-9"] { _ = try await stage.ask([("Range", "bytes=\(range)")]) }
        #expect(try await stage.ask([("Range", "bytes=1-4")]).shown == "disk 206 1234")
        #expect(try await stage.ask([("Range", "bytes=6-7")]).shown == "network 200 all")
        await stage.end()
    }

    @Test("RFC 9111 3.3: A truncated body fails its request and is resumed by the next one")
    func incomplete() async throws {
        let text = String(repeating: "0123456789", count: 4000)
        let stage = try StoreStage()
        let answer = StoreStage.ok(
            text, ("ETag", "\"a\""), ("Cache-Control", "max-age=60"), ("Content-Length", "40000"))
        stage.serve(
            StoreStage.url, answer.failing(.truncated, after: 20_000),
            Self.part(String(text.dropFirst(20_000)), "20000-39999/40000"))
        await #expect(throws: LoadError.self) { try await stage.ask() }
        await stage.settled()
        let second = try await stage.ask()
        #expect(second.body == Bytes(text) && second.head.status == 200)
        #expect(stage.sent.last?.fields["range"] == "bytes=20000-")
        await stage.end()
    }
}
