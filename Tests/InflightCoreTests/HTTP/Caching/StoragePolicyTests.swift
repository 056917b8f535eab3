import InflightCore
import Testing

@Suite("Storage of responses", .timeLimit(.minutes(10)))
struct StoragePolicyTests {
    typealias Stage = CachingStage

    private func kept(
        _ answer: [(String, String)], status: Int = 200, request: CachingRequest = CachingStage.request()
    ) -> StoredResponse? {
        StoragePolicy.incoming(Stage.head(status, answer), of: request, requestTime: at(-1), responseTime: at(0))?
            .response
    }

    @Test(
        "RFC 9111 3: A 200 with an ETag is stored, also with private, no-cache or max-age=0",
        arguments: [
            "max-age=60", "private, max-age=60", "private", "public", "no-cache", "max-age=0", "max-age=x", "",
            "no-cache=\"a\"", "private=\"a\"", "no-transform",
        ])
    func keptAnswers(control: String) {
        #expect(kept([("Cache-Control", control), ("ETag", "\"a\"")]) != nil)
    }

    @Test(
        "RFC 9111 5.2.2.5: A response with no-store in any spelling is not stored",
        arguments: [
            "no-store", "No-StOrE", "max-age=10000, no-store", "no-store=\"x\"", "no-store, max-age=0", ",no-store",
        ])
    func noStore(control: String) {
        #expect(kept([("Cache-Control", control), ("Expires", date(10_000))]) == nil)
        #expect(kept([("Cache-Control", "max-age=60"), ("Cache-Control", control)]) == nil)
    }

    @Test("RFC 9111 5.2.1.5: The response to a request with no-store is not stored")
    func requestNoStore() {
        let request = Stage.request([("Cache-Control", "no-store")])
        #expect(kept([("Cache-Control", "max-age=60")], request: request) == nil)
        #expect(kept([("Cache-Control", "max-age=60")], request: Stage.request(policy: .noStore)) == nil)
    }

    @Test("RFC 9111 5.2.2.3: must-understand overrides no-store for known statuses and rules out others")
    func mustUnderstand() {
        let control = [("Cache-Control", "must-understand, no-store, max-age=60")]
        #expect(kept(control) != nil)
        #expect(kept(control, status: 599) == nil)
        #expect(kept([("Cache-Control", "must-understand, max-age=60")], status: 299) == nil)
        let entry = Stage.entry(control)
        #expect(Stage.Use(Stage.decide([entry])) == .served)
    }

    @Test(
        "RFC 9111 3: Explicit freshness makes success, redirect and error statuses storable",
        arguments: [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599])
    func explicit(status: Int) {
        #expect(kept([("Cache-Control", "max-age=60")], status: status) != nil)
        #expect(kept([("Expires", date(60))], status: status) != nil)
    }

    @Test("RFC 9111 3: An uncacheable status is not stored", arguments: [100, 103, 199, 304, 407, 412, 416, 600, 999])
    func never(status: Int) {
        #expect(kept([("Cache-Control", "max-age=60")], status: status) == nil)
    }

    @Test(
        "RFC 9111 3: Without explicit freshness, only heuristically cacheable statuses are stored",
        arguments: [200, 201, 202, 203, 204, 302, 307, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504, 599])
    func heuristic(status: Int) {
        let mayKeep = [200, 203, 204, 404, 405, 410, 414, 501].contains(status)
        #expect((kept([("Last-Modified", date(-1000))], status: status) != nil) == mayKeep)
        #expect(kept([("Last-Modified", date(-1000)), ("Cache-Control", "public")], status: status) != nil)
        #expect((kept([("Cache-Control", "stale-if-error=60")], status: status) != nil) == mayKeep)
    }

    @Test("A response that could never be reused is not stored")
    func useless() {
        #expect(kept([], status: 404) == nil)
        #expect(kept([("Cache-Control", "max-age=0")], status: 503) == nil)
        #expect(kept([("Cache-Control", "no-cache, max-age=60")]) == nil)
        #expect(kept([("Cache-Control", "no-cache"), ("Last-Modified", date(-9))]) != nil)
        #expect(kept([("Cache-Control", "max-age=0, must-revalidate")]) == nil)
        #expect(kept([("Cache-Control", "max-age=1, must-revalidate")]) != nil)
        #expect(kept([("Cache-Control", "max-age=0")]) != nil)
        #expect(kept([]) != nil)
    }

    @Test("RFC 9111 3.1: Connection and proxy fields and those named by Connection are not stored")
    func connectionFields() throws {
        let dropped = [
            ("Connection", "close, Hop"), ("Hop", "1"), ("Connection", "second"), ("Second", "2"), ("Keep-Alive", "5"),
            ("Proxy-Authenticate", "x"), ("Proxy-Authentication-Info", "x"), ("Proxy-Authorization", "x"),
            ("Proxy-Connection", "x"), ("TE", "x"), ("Transfer-Encoding", "chunked"), ("Upgrade", "x"),
            ("Trailer", "x"),
        ]
        let rest = [("Author", "a"), ("Content-Type", "image/png"), ("X", "1"), ("Content-Encoding", "gzip")]
        let fields = try #require(kept(dropped + rest)?.head.fields)
        for (name, _) in dropped { #expect(!fields.contains(name), "\(name)") }
        for (name, value) in rest { #expect(fields[name] == value) }
    }

    @Test("RFC 9111 5.2.2.4: Fields named by no-cache are not stored, and the response stays fresh")
    func noCacheFields() throws {
        let answer = [("Cache-Control", "no-cache=\"a, B\", max-age=60"), ("A", "1"), ("b", "2"), ("C", "3")]
        let response = try #require(kept(answer))
        #expect(!response.head.fields.contains("a") && !response.head.fields.contains("b"))
        #expect(response.head.fields["c"] == "3")
        #expect(Freshness(of: response, at: at(5)).isFresh)
    }

    @Test(
        "Fields that carry credentials are not stored (RFC 9111 7.3)",
        arguments: [
            "Set-Cookie", "SET-COOKIE2", "WWW-Authenticate", "Authentication-Info", "Authorization", "X-Auth-Token",
            "X-Auth", "X-CSRF-Token", "X-Session-Id", "X-Api-Key", "X-Amz-Security-Token", "Client-Secret", "X-JWT",
        ])
    func secrets(name: String) throws {
        let answer = [("Cache-Control", "max-age=60"), (name, "secret"), ("X-Author", "a"), (name, "again")]
        let fields = try #require(kept(answer)?.head.fields)
        #expect(!fields.contains(name) && fields["x-author"] == "a")
    }

    @Test("RFC 9111 3.5: A private cache stores responses to requests with Authorization")
    func authorization() {
        #expect(kept([("Cache-Control", "max-age=60")], request: Stage.request([("Authorization", "x")])) != nil)
    }

    @Test(
        "RFC 9111 3: Besides GET, only a POST with expiry and own Content-Location is stored (RFC 9110 9.3.3)"
    )
    func methods() {
        let answer = [("Expires", date(60)), ("Content-Location", "/cat.png")]
        #expect(kept(answer, request: Stage.request(method: "POST")) != nil)
        #expect(kept([("Content-Location", "/cat.png")], request: Stage.request(method: "POST")) == nil)
        #expect(
            kept([("Expires", date(60)), ("Content-Location", "/dog.png")], request: Stage.request(method: "POST"))
                == nil)
        #expect(kept([("Expires", date(60))], request: Stage.request(method: "POST")) == nil)
        for method in ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "X"] {
            #expect(kept(answer, request: Stage.request(method: method)) == nil, "\(method)")
        }
    }

    // MARK: Bodies

    private func ended(
        _ answer: [(String, String)], status: Int = 200, count: Int64, isWhole: Bool = true
    ) -> StoredResponse? {
        StoragePolicy.incoming(
            Stage.head(status, answer), of: Stage.request(), requestTime: at(0), responseTime: at(0))?
            .ended(after: count, isWhole: isWhole)
    }

    @Test("RFC 9111 3.3: A body that ends normally with the declared length is complete")
    func whole() {
        for answer in [[("Content-Length", "10")], [("Content-Length", "10, 10")], []] {
            let stored = ended(answer, count: 10)
            #expect(stored?.isComplete == true && stored?.bodyRange == 0..<10)
        }
        #expect(ended([], count: 0)?.isComplete == true)
        #expect(ended([("Content-Length", "9")], count: 10) == nil)
        #expect(ended([("Content-Length", "9"), ("ETag", "\"a\"")], count: 10) == nil)
    }

    @Test("RFC 9111 3.3: A truncated body is stored as a part only with a strong validator")
    func broken() {
        let length = ("Content-Length", "10")
        let stored = ended([length, ("ETag", "\"a\"")], count: 4, isWhole: false)
        #expect(stored?.bodyRange == 0..<4 && stored?.totalLength == 10 && stored?.isComplete == false)
        #expect(ended([("ETag", "\"a\"")], count: 4, isWhole: false)?.totalLength == nil)
        #expect(ended([length, ("ETag", "W/\"a\"")], count: 4, isWhole: false) == nil)
        #expect(ended([length], count: 4, isWhole: false) == nil)
        #expect(ended([length, ("ETag", "\"a\"")], count: 0, isWhole: false) == nil)
        // Longer than declared before it broke off.
        #expect(ended([("Content-Length", "9"), ("ETag", "\"a\"")], count: 10, isWhole: false) == nil)
        // Shorter than declared, although the exchange ended normally.
        #expect(ended([length], count: 4) == nil)
        let dated = [length, ("Last-Modified", date(-1)), ("Date", date(0))]
        #expect(ended(dated, count: 4, isWhole: false) != nil)
        #expect(ended([length, ("Last-Modified", date(0)), ("Date", date(0))], count: 4, isWhole: false) == nil)
        #expect(ended([length, ("Last-Modified", date(-1))], count: 4, isWhole: false) == nil)
    }

    @Test("RFC 9111 3.3: A 206 is stored as a 200 with the received range of its body")
    func part() throws {
        let answer = [("Content-Range", "bytes 4-8/10"), ("Content-Length", "5"), ("Cache-Control", "max-age=60")]
        let stored = try #require(ended(answer, status: 206, count: 5))
        #expect(stored.bodyRange == 4..<9 && stored.totalLength == 10 && stored.head.status == 200)
        #expect(!stored.head.fields.contains("content-range") && stored.head.fields["content-length"] == "10")
        let unknown = ended([("Content-Range", "bytes 0-4/*")], status: 206, count: 5)
        #expect(unknown?.totalLength == nil && unknown?.isComplete == false)
        #expect(ended([("Content-Range", "bytes 0-9/10")], status: 206, count: 10)?.isComplete == true)
    }

    @Test("RFC 9111 3.3: A 206 with a missing or inconsistent Content-Range is not stored")
    func badPart() {
        #expect(ended([], status: 206, count: 5) == nil)
        #expect(ended([("Content-Range", "bytes 4-8/10"), ("Content-Length", "6")], status: 206, count: 5) == nil)
        #expect(ended([("Content-Range", "bytes 4-8/10"), ("ETag", "\"a\"")], status: 206, count: 6) == nil)
        #expect(ended([("Content-Range", "bytes 4-8/10")], status: 206, count: 4) == nil)
        #expect(ended([("Content-Type", "multipart/byteranges; boundary=x")], status: 206, count: 5) == nil)
    }
}
