import InflightCore
import Testing

@Suite("Age and freshness", .timeLimit(.minutes(10)))
struct FreshnessTests {
    private func freshness(_ entry: StoredEntry, now: Double) -> Freshness {
        Freshness(of: entry.response, at: at(now))
    }

    private func age(_ entry: StoredEntry, now: Double) -> Double { Double(freshness(entry, now: now).age) / 1000 }

    private func lifetime(_ answer: [(String, String)], status: Int = 200) -> Int64 {
        freshness(CachingStage.entry(answer, status: status), now: 0).lifetime / 1000
    }

    @Test("RFC 9111 4.2.3: The age is the larger of Age plus delay and apparent age, plus resident time")
    func age() {
        #expect(age(CachingStage.entry([]), now: 7) == 7)
        #expect(age(CachingStage.entry([("Age", "30")]), now: 7) == 37)
        #expect(age(CachingStage.entry([("Date", date(-20))]), now: 7) == 27)
        #expect(age(CachingStage.entry([("Date", date(-20)), ("Age", "30")]), now: 7) == 37)
        #expect(age(CachingStage.entry([("Age", "30")], sent: -4), now: 7) == 41)
    }

    @Test(
        "RFC 9111 5.1: The first member of Age counts, and an invalid value counts as 0",
        arguments: [
            ("7200,0", 7200), ("0,7200", 0), ("0, 0", 0), ("abc", 0), ("-7200", 0), ("7200.0", 0), ("", 0), (",5", 0),
            (" 12 ", 12), ("99999999999999999999", 2_147_483_648),
        ])
    func ages(value: String, seconds: Double) {
        #expect(age(CachingStage.entry([("Age", value)]), now: 0) == seconds)
    }

    @Test("RFC 9111 5.1: The first of two Age field lines counts")
    func twoAges() {
        #expect(age(CachingStage.entry([("Age", "5"), ("Age", "7200")]), now: 0) == 5)
    }

    @Test("RFC 9111 4.2.3: A wrong clock makes no age negative and causes no overflow")
    func wrongClocks() {
        #expect(age(CachingStage.entry([("Date", date(1000))]), now: 3) == 3)
        #expect(age(CachingStage.entry([], sent: 100), now: 3) == 3)
        #expect(age(CachingStage.entry([]), now: -40) == 0)
        var far = CachingStage.entry([("Age", "9999999999")]).response
        far.requestTime = WallTime(milliseconds: .min)
        far.responseTime = WallTime(milliseconds: .max)
        let freshness = Freshness(of: far, at: WallTime(milliseconds: .max))
        #expect(freshness.age > 0 && !freshness.isFresh)
    }

    @Test("RFC 9110 6.6.1: A missing or malformed Date is replaced by the time of receipt")
    func missingDate() {
        #expect(age(CachingStage.entry([], dated: false), now: 7) == 7)
        #expect(lifetime([("Date", "foo"), ("Expires", date(10))]) == 10)
    }

    @Test("RFC 9111 4.2.1: max-age overrides Expires, and Expires overrides the heuristic")
    func order() {
        #expect(lifetime([("Cache-Control", "max-age=3600"), ("Expires", date(-10_000))]) == 3600)
        #expect(lifetime([("Cache-Control", "max-age=0"), ("Expires", date(10_000))]) == 0)
        #expect(lifetime([("Expires", date(10)), ("Last-Modified", date(-1_000_000))]) == 10)
        #expect(lifetime([("Cache-Control", "s-maxage=3600")]) == 0)
    }

    @Test("RFC 9111 5.3: Expires is relative to Date, and a malformed Expires has passed")
    func expires() {
        #expect(lifetime([("Expires", date(30)), ("Date", date(-10))]) == 40)
        #expect(lifetime([("Expires", date(300)), ("Date", date(400))]) == 0)
        #expect(lifetime([("Expires", date(0)), ("Date", date(0))]) == 0)
        for value in ["0", "-1", "soon", "Thu, 18 Aug 2050 02:01:18 UTC"] {
            #expect(lifetime([("Expires", value), ("Last-Modified", date(-1_000_000))]) == 0, "\(value)")
        }
        #expect(lifetime([("Expires", date(9)), ("Expires", date(500))]) == 9)
    }

    @Test("RFC 9111 4.2.2: The heuristic lifetime is a tenth of the time since Last-Modified")
    func guess() {
        #expect(lifetime([("Last-Modified", date(-1000))]) == 100)
        #expect(lifetime([("Last-Modified", date(1000))]) == 0)
        #expect(lifetime([("Last-Modified", "foo")]) == 0)
        #expect(lifetime([]) == 0)
    }

    @Test("RFC 9111 4.2.2: No heuristic applies beside an explicit lifetime, even a malformed one")
    func noGuess() {
        #expect(lifetime([("Last-Modified", date(-1000)), ("Cache-Control", "max-age=x")]) == 0)
        #expect(lifetime([("Last-Modified", date(-1000)), ("Expires", "0")]) == 0)
    }

    @Test(
        "RFC 9110 15.1: The heuristic applies to heuristically cacheable statuses and public responses",
        arguments: Array(200...206) + [
            300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 599,
        ])
    func statuses(status: Int) {
        let mayGuess = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
        #expect((lifetime([("Last-Modified", date(-1000))], status: status) > 0) == mayGuess)
        #expect(lifetime([("Last-Modified", date(-1000)), ("Cache-Control", "public")], status: status) == 100)
    }

    @Test("RFC 9111 4.2: A response is fresh while its age is below its lifetime, not at it")
    func border() {
        let entry = CachingStage.entry([("Cache-Control", "max-age=10")])
        #expect(freshness(entry, now: 9.999).isFresh)
        #expect(!freshness(entry, now: 10).isFresh)
    }

    @Test(
        "A response received in the future is not fresh, except within a clock correction of a minute"
    )
    func clockSetBack() {
        let entry = CachingStage.entry([("Cache-Control", "max-age=31536000")])
        #expect(!freshness(entry, now: -31_536_000).isFresh)
        #expect(freshness(entry, now: -60).isFresh)
        #expect(CachingStage.decide([entry], now: -31_536_000).exchange != nil)
    }
}
