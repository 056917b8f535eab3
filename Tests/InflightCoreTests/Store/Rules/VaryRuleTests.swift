import InflightCore
import InflightTestSupport
import Testing

@Suite("HTTP rules through response(for:): variants", .timeLimit(.minutes(10)))
struct VaryRuleTests {
    /// The `Vary` lines, the fields of two requests, and whether the response to the first serves the second.
    private static let cases: [([String], Fields, Fields, Bool)] = [
        (["Foo"], [("Foo", "1")], [("Foo", "1")], true), (["Foo"], [("Foo", "1")], [("Foo", "2")], false),
        (["foo"], [("FOO", "1")], [("Foo", "1")], true), (["Foo"], [("Foo", "1")], [], false),
        (["Foo"], [], [("Foo", "1")], false), (["Foo"], [], [], true), (["Foo"], [("Foo", "")], [], false),
        (["Foo"], [("Foo", "1"), ("Other", "2")], [("Foo", "1"), ("Other", "3")], true),
        (["Foo, Bar"], [("Foo", "1"), ("Bar", "a")], [("Bar", "a"), ("Foo", "1")], true),
        (["Foo, Bar"], [("Foo", "1"), ("Bar", "a")], [("Foo", "1"), ("Bar", "b")], false),
        (["Foo, Bar"], [("Foo", "1"), ("Bar", "a")], [("Foo", "1")], false),
        (["Foo", "Bar"], [("Foo", "1"), ("Bar", "a")], [("Foo", "1"), ("Bar", "b")], false),
        (["Foo", "Bar"], [("Foo", "1")], [("Foo", "1")], true),
        (["Foo,Bar , Baz"], [("Foo", "1"), ("Baz", "3")], [("Foo", "1"), ("Baz", "3")], true),
        (["Foo"], [("Foo", "1,2")], [("Foo", " 1, 2 ")], true),
        (["Foo"], [("Foo", "1, 2")], [("Foo", "1"), ("Foo", "2")], true),
        (["Foo"], [("Foo", "1"), ("Foo", "2")], [("Foo", "2"), ("Foo", "1")], false),
        (["Foo"], [("Foo", "\"1, 2\"")], [("Foo", "\"1,2\"")], false),
        (["Accept-Language"], [("Accept-Language", "en, de")], [("Accept-Language", "de, en")], true),
        (["Accept-Language"], [("Accept-Language", "en, de")], [("Accept-Language", "EN,de")], true),
        (["Accept-Language"], [("Accept-Language", "en, de")], [("Accept-Language", "fr, de")], false),
        (["*"], [("Foo", "1")], [("Foo", "1")], false), (["*, *"], [("Foo", "1")], [("Foo", "1")], false),
        (["*", "*"], [("Foo", "1")], [("Foo", "1")], false), ([", *"], [("Foo", "1")], [("Foo", "1")], false),
        (["", "*"], [("Foo", "1")], [("Foo", "1")], false), (["*, Foo"], [("Foo", "1")], [("Foo", "1")], false),
        (["Foo, *"], [("Foo", "1")], [("Foo", "1")], false), ([""], [("Foo", "1")], [("Foo", "2")], true),
        (["Cookie"], [("Cookie", "a=b")], [("Cookie", "a=b")], true),
        (["Cookie"], [("Cookie", "a=b")], [("Cookie", "a=c")], false), ([], [], [("Cookie", "a=b")], false),
        (["Foo"], [("Cookie", "a=b")], [("Cookie", "a=b")], true), ([], [("Cookie", "a=b")], [], false),
    ]

    @Test(
        "RFC 9111 4.1: A stored response serves only requests equal in all fields named by Vary", arguments: cases)
    func selects(vary: [String], first: Fields, second: Fields, isReused: Bool) async throws {
        let stage = try StoreStage()
        let fields = vary.map { (name: "Vary", value: $0) } + [("Cache-Control", "max-age=60")]
        #expect(try await stage.reuses(fields, after: 1, first: first, second: second) == isReused)
        await stage.end()
    }

    @Test("RFC 9111 4.1: Variants are stored side by side, and each is served again")
    func variants() async throws {
        let stage = try StoreStage()
        stage.transport.serve(StoreStage.url) { request in
            StoreStage.ok(request.fields["foo"] ?? "none", ("Vary", "Foo"), ("Cache-Control", "max-age=60"))
        }
        for source in ["network", "disk"] {
            for foo in ["1", "2", "3"] { #expect(try await stage.ask([("Foo", foo)]).shown == "\(source) 200 \(foo)") }
            #expect(try await stage.ask().shown == "\(source) 200 none")
        }
        await stage.end()
    }

    @Test("RFC 9111 4: The query is part of the cache key and the fragment is not")
    func keys() async throws {
        let stage = try StoreStage()
        stage.transport.serveOthers(StoreStage.ok("other", ("Cache-Control", "max-age=60")))
        let url = "http://a.example/q"
        #expect(try await stage.ask(url: url + "?test=1").source == .network)
        #expect(try await stage.ask(url: url + "?test=2").source == .network)
        #expect(try await stage.ask(url: url).source == .network)
        #expect(try await stage.ask(url: url + "?test=1#there").source == .disk)
        await stage.end()
    }

    @Test(
        "RFC 9111 3.5: A response to Authorization serves only equal credentials unless it is public",
        arguments: [("max-age=60", false), ("max-age=60, public", true), ("max-age=60, must-revalidate", false)])
    func authorization(control: String, isShared: Bool) async throws {
        let stage = try StoreStage()
        let fields: Fields = [("Cache-Control", control)]
        #expect(try await stage.reuses(fields, first: [("Authorization", "FOO")], second: [("Authorization", "FOO")]))
        await stage.end()
        for second: Fields in [[], [("Authorization", "BAR")]] {
            let stage = try StoreStage()
            #expect(try await stage.reuses(fields, first: [("Authorization", "FOO")], second: second) == isShared)
            await stage.end()
        }
    }
}
