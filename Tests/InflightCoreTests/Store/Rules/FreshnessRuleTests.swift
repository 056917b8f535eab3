import InflightCore
import InflightTestSupport
import Testing

@Suite("HTTP rules through response(for:): freshness", .timeLimit(.minutes(10)))
struct FreshnessRuleTests {
    /// A response, the seconds until it is requested again, and whether it is then reused.
    struct Case: CustomTestStringConvertible, Sendable {
        var fields: [(name: String, value: String)]
        var seconds: Int
        var isReused: Bool

        init(_ cacheControl: String..., after seconds: Int = 2, reused isReused: Bool) {
            fields = cacheControl.map { ("Cache-Control", $0) }
            self.seconds = seconds
            self.isReused = isReused
        }

        init(fields: [(name: String, value: String)], after seconds: Int = 2, reused isReused: Bool) {
            self.fields = fields
            self.seconds = seconds
            self.isReused = isReused
        }

        static func expiring(_ value: String, after seconds: Int = 2, reused isReused: Bool) -> Case {
            Case(fields: [("Expires", value)], after: seconds, reused: isReused)
        }

        static func aged(_ ages: String..., after seconds: Int, reused isReused: Bool) -> Case {
            Case(fields: [("Cache-Control", "max-age=60")] + ages.map { ("Age", $0) }, after: seconds, reused: isReused)
        }

        var testDescription: String {
            fields.map { "\($0.name): \($0.value)" }.joined(separator: "; ") + " after \(seconds) s"
        }
    }

    private func check(_ test: Case) async throws {
        let stage = try StoreStage()
        #expect(try await stage.reuses(test.fields, after: test.seconds) == test.isReused)
        await stage.end()
    }

    @Test(
        "RFC 9111 5.2.2.1, 4.2.1: max-age sets the freshness lifetime in any valid spelling",
        arguments: [
            Case(after: 0, reused: false), Case("max-age=60", after: 59, reused: true),
            Case("max-age=60", after: 60, reused: false),
            Case("MaX-aGe=60", reused: true), Case("max-age=\"60\"", reused: true), Case("max-age=0060", reused: true),
            Case("foobar, max-age=60", reused: true), Case("foobar=7, max-age=60", reused: true),
            Case(" ,, max-age=60 ,", reused: true),
            Case("max-age=2147483648", after: 2_000_000_000, reused: true), Case("max-age=99999999999", reused: true),
            Case("max-age=18446744073709551617", reused: true), Case("max-age=0", after: 0, reused: false),
            Case("ext=\"max-age=60\", max-age=1", reused: false), Case("max-age=1, ext=\"max-age=60\"", reused: false),
            Case("ext=\"a\\\", max-age=60, b\", max-age=1", reused: false),
        ])
    func maxAge(test: Case) async throws { try await check(test) }

    @Test(
        "RFC 9111 4.2.1: A malformed max-age makes the response stale, and the first of two counts",
        arguments: [
            Case("max-age=-60", reused: false), Case("max-age=a60", reused: false), Case("max-age=60a", reused: false),
            Case("max-age=60.0", reused: false), Case("max-age='60'", reused: false),
            Case("max-age =60", reused: false),
            Case("max-age= 60", reused: false), Case("max-age", reused: false), Case("max-age=", reused: false),
            Case("max-age=60, max-age=1", reused: true), Case("max-age=1, max-age=60", reused: false),
            Case("max-age=60", "max-age=1", reused: true), Case("max-age=1", "max-age=60", reused: false),
        ])
    func malformed(test: Case) async throws { try await check(test) }

    @Test(
        "RFC 9111 5.3: Expires is read in three date formats, and a malformed date has passed",
        arguments: [
            Case.expiring("Tue, 14 Nov 2023 22:14:20 GMT", after: 59, reused: true),
            Case.expiring("Tue, 14 Nov 2023 22:14:20 GMT", after: 60, reused: false),
            Case.expiring("Tuesday, 14-Nov-23 22:14:20 GMT", reused: true),
            Case.expiring("Tue Nov 14 22:14:20 2023", reused: true),
            Case.expiring("TUE, 14 NOV 2023 22:14:20 gmt", reused: true),
            Case.expiring("Thu, 18 Aug 2050 02:01:18 GMT", reused: true),
            Case.expiring("0", reused: false), Case.expiring("-1", reused: false), Case.expiring("", reused: false),
            Case.expiring("never", reused: false),
            Case.expiring("Tue, 14 Nov 2023 22:13:20 GMT", after: 0, reused: false),
            Case.expiring("Tue, 14 Nov 2023 22:14:20 UTC", reused: false),
            Case.expiring("Tue, 14 Nov 23 22:14:20 GMT", reused: false),
            Case.expiring("Tue 14 Nov 2023 22:14:20 GMT", reused: false),
            Case.expiring("Tue, 14  Nov 2023 22:14:20 GMT", reused: false),
            Case.expiring("Tue, 14-Nov-2023 22:14:20 GMT", reused: false),
            Case.expiring("Tue, 14 Nov 2023 22.14.20 GMT", reused: false),
            Case.expiring("Tue, 14 Nov 2023 2:14:20 GMT", reused: false),
        ])
    func expires(test: Case) async throws { try await check(test) }

    @Test(
        "RFC 9111 4.2.1: max-age overrides Expires, and directives for shared caches are ignored",
        arguments: [
            Case(
                fields: [("Cache-Control", "max-age=60"), ("Expires", "Tue, 14 Nov 2000 00:00:00 GMT")], reused: true),
            Case(fields: [("Cache-Control", "max-age=60"), ("Expires", "0")], reused: true),
            Case(
                fields: [("Cache-Control", "max-age=0"), ("Expires", "Thu, 18 Aug 2050 02:01:18 GMT")], reused: false),
            Case("s-maxage=60", reused: false), Case("s-maxage=1, max-age=60", reused: true),
            Case("s-maxage=60, max-age=1", reused: false),
            Case("proxy-revalidate, max-age=60", reused: true), Case("private, max-age=60", reused: true),
            Case(fields: [("CDN-Cache-Control", "max-age=60")], reused: false),
            Case(fields: [("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "max-age=1")], reused: false),
            Case(fields: [("CDN-Cache-Control", "no-store"), ("Cache-Control", "max-age=60")], reused: true),
            Case(fields: [("Surrogate-Control", "max-age=60")], reused: false),
            Case(fields: [("Pragma", "no-cache"), ("Cache-Control", "max-age=60")], reused: true),
        ])
    func precedence(test: Case) async throws { try await check(test) }

    @Test(
        "RFC 9111 4.2.3, 5.1: The first member of Age counts, and an invalid Age is ignored",
        arguments: [
            Case.aged("30", after: 29, reused: true), Case.aged("30", after: 30, reused: false),
            Case.aged("60", after: 0, reused: false),
            Case.aged("99999999999999999999", after: 0, reused: false), Case.aged("abc", after: 59, reused: true),
            Case.aged("-60", after: 59, reused: true),
            Case.aged("60.0", after: 59, reused: true), Case.aged("0, 60", after: 59, reused: true),
            Case.aged("60, 0", after: 0, reused: false),
            Case.aged("0", "60", after: 59, reused: true), Case.aged("60", "0", after: 0, reused: false),
        ])
    func age(test: Case) async throws { try await check(test) }

    @Test(
        "RFC 9111 5.2.2: no-store and no-cache prevent reuse in any spelling",
        arguments: [
            Case("no-store", after: 0, reused: false), Case("No-StOrE, max-age=60", after: 0, reused: false),
            Case("max-age=60", "no-store", after: 0, reused: false),
            Case("no-cache, max-age=60", after: 0, reused: false),
            Case("max-age=60, No-CaChE", after: 0, reused: false),
            Case("no-store=\"x\", max-age=60", after: 0, reused: false),
            Case("must-revalidate, max-age=60", reused: true), Case("must-revalidate, max-age=1", reused: false),
            Case("no-cache=\"a\", max-age=60", reused: true), Case("ext=\"no-store\", max-age=60", reused: true),
        ])
    func forbidding(test: Case) async throws { try await check(test) }

    @Test("RFC 9111 5.1, RFC 9110 6.6.1: A served response states its Age and keeps Date and Expires")
    func shown() async throws {
        let stage = try StoreStage()
        let expires = "Wed, 15 Nov 2023 22:13:20 GMT"
        stage.serve(StoreStage.url, StoreStage.ok("one", ("Expires", expires), ("Age", "30"), ("Set-Cookie", "a=b")))
        let first = try await stage.ask()
        #expect(first.head.fields["age"] == "30")
        stage.clock.advance(by: .seconds(5))
        let second = try await stage.ask()
        #expect(second.head.fields.values("age") == ["35"])
        #expect(second.head.fields["date"] == StoreStage.date)
        #expect(second.head.fields["expires"] == expires)
        #expect(first.head.fields["set-cookie"] == "a=b" && !second.head.fields.contains("set-cookie"))
        await stage.end()
    }

    private static let dayBefore = "Mon, 13 Nov 2023 22:13:20 GMT"

    @Test(
        "RFC 9111 4.2.2, RFC 9110 15.1: The heuristic lifetime is a tenth of the time since Last-Modified",
        arguments: [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501], [8639, 8640])
    func heuristic(status: Int, seconds: Int) async throws {
        let stage = try StoreStage()
        let isReused = try await stage.reuses([("Last-Modified", Self.dayBefore)], status: status, after: seconds)
        #expect(isReused == (seconds < 8640))
        await stage.end()
    }

    @Test(
        "RFC 9111 4.2.2: A status such as 302 or 503 gets no heuristic freshness unless it is public",
        arguments: [201, 202, 302, 303, 307, 400, 403, 502, 503, 504, 599], [false, true])
    func noHeuristic(status: Int, isPublic: Bool) async throws {
        let stage = try StoreStage()
        let control = isPublic ? [(name: "Cache-Control", value: "public")] : []
        #expect(try await stage.reuses([("Last-Modified", Self.dayBefore)] + control, status: status) == isPublic)
        await stage.end()
    }

    @Test(
        "RFC 9111 3: A response with max-age is reused while it is fresh, whatever its status",
        arguments: [
            200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 451, 499, 500, 501, 502, 503,
            504,
            599,
        ], [59, 60])
    func explicit(status: Int, seconds: Int) async throws {
        let stage = try StoreStage()
        let isReused = try await stage.reuses([("Cache-Control", "max-age=60")], status: status, after: seconds)
        #expect(isReused == (seconds < 60))
        await stage.end()
    }

    @Test(
        "RFC 9111 5.2.2.3: must-understand overrides no-store for known statuses only",
        arguments: [200, 404, 299, 499])
    func mustUnderstand(status: Int) async throws {
        let stage = try StoreStage()
        let control = [(name: "Cache-Control", value: "must-understand, no-store, max-age=60")]
        #expect(try await stage.reuses(control, status: status) == [200, 404].contains(status))
        await stage.end()
    }
}
