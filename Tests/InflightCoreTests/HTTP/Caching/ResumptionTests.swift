import InflightCore
import Testing

@Suite("Resumption of broken transfers", .timeLimit(.minutes(10)))
struct ResumptionTests {
    typealias Stage = CachingStage

    private static let tag = [("ETag", "\"a\"")]

    private func resumption(
        _ answer: [(String, String)] = tag, bytes: Range<Int64> = 0..<4, total: Int64? = 10, dated: Bool = true
    ) -> Resumption? {
        Resumption(of: Stage.entry(answer, bytes: bytes, total: total, dated: dated).response)
    }

    private func verdict(
        _ status: Int, _ answer: [(String, String)], stored: [(String, String)] = tag, total: Int64? = 10
    ) -> Resumption.Verdict? {
        resumption(stored, total: total)?
            .verdict(on: Stage.head(status, answer), requestTime: at(8), responseTime: at(9))
    }

    @Test("RFC 9110 13.1.5: A resumed transfer sends Range and If-Range with the strong validator")
    func asked() throws {
        let request = fields([("Accept", "x"), ("If-Range", "\"old\"")])
        let sent = try #require(resumption()?.fields(from: request))
        #expect(sent.values("range") == ["bytes=4-"] && sent.values("if-range") == ["\"a\""] && sent["accept"] == "x")
        let dated = resumption([("Last-Modified", date(-1))])?.fields(from: HTTPFields())
        #expect(dated?["if-range"] == date(-1))
    }

    @Test("RFC 9110 8.8.2.2: Last-Modified is strong only if it is at least a second before its Date")
    func strongDates() {
        #expect(resumption([("Last-Modified", date(-1))]) != nil)
        #expect(resumption([("Last-Modified", date(0))]) == nil)
        #expect(resumption([("Last-Modified", date(5))]) == nil)
        #expect(resumption([("Last-Modified", date(-50))], dated: false) == nil)
        #expect(resumption([("Last-Modified", date(-50)), ("Date", "foo")]) == nil)
        #expect(resumption([("Last-Modified", date(-50)), ("ETag", "W/\"a\"")]) == nil)
    }

    @Test("Only an incomplete prefix of a 200 with a strong validator is resumed")
    func nothingToGoOnWith() {
        #expect(resumption([]) == nil)
        #expect(resumption([("ETag", "W/\"a\"")]) == nil)
        #expect(resumption(bytes: 1..<4) == nil)
        #expect(resumption(bytes: 0..<0) == nil)
        #expect(resumption(bytes: 0..<10) == nil)
        #expect(resumption(bytes: 0..<4, total: nil) != nil)
        #expect(Resumption(of: Stage.entry(Self.tag, status: 404, bytes: 0..<4).response) == nil)
    }

    @Test(
        "RFC 9110 15.3.7: A matching 206 continues the stored part and forms one response with it"
    )
    func continues() throws {
        let answer = Self.tag + [("Content-Range", "bytes 4-9/10"), ("Content-Length", "6"), ("X", "new")]
        guard case .proceed(let incoming)? = verdict(206, answer) else {
            Issue.record("it does not go on")
            return
        }
        let whole = try #require(incoming.ended(after: 6, isWhole: true))
        #expect(whole.isComplete && whole.bodyRange == 0..<10 && whole.head.status == 200)
        #expect(whole.head.fields["x"] == "new" && whole.head.fields["content-length"] == "10")
        #expect(whole.responseTime == at(9))
        // The transfer may break again and is then resumed from there.
        let part = try #require(incoming.ended(after: 3, isWhole: false))
        #expect(Resumption(of: part)?.fields(from: HTTPFields())["range"] == "bytes=7-")
    }

    @Test("RFC 9110 15.3.7: A 206 may carry less than the rest and supply an unknown total length")
    func less() {
        guard case .proceed(let incoming)? = verdict(206, Self.tag + [("Content-Range", "bytes 4-6/10")], total: nil)
        else {
            Issue.record("it does not go on")
            return
        }
        #expect(incoming.end == 7 && incoming.response.totalLength == 10)
        #expect(incoming.ended(after: 3, isWhole: true)?.isComplete == false)
        #expect(incoming.ended(after: 4, isWhole: true) == nil)
    }

    @Test(
        "A 206 that does not match is never appended, and the whole body is requested",
        arguments: [
            [("ETag", "\"a\""), ("Content-Range", "bytes 3-9/10")],
            [("ETag", "\"a\""), ("Content-Range", "bytes 5-9/10")],
            [("ETag", "\"a\""), ("Content-Range", "bytes 4-9/11")],
            [("ETag", "\"b\""), ("Content-Range", "bytes 4-9/10")],
            [("ETag", "W/\"a\""), ("Content-Range", "bytes 4-9/10")], [("Content-Range", "bytes 4-9/10")],
            [("ETag", "\"a\"")],
            [("ETag", "\"a\""), ("Content-Range", "bytes 4-10/*")],
            [("ETag", "\"a\""), ("Content-Range", "bytes */10")],
            [("ETag", "\"a\""), ("Content-Range", "bytes 4-9/10"), ("Content-Length", "5")],
            [("ETag", "\"a\""), ("Content-Range", "bytes 4-9/10"), ("Content-Encoding", "gzip")],
            [("ETag", "\"a\""), ("Content-Range", "bytes 4-9/10"), ("Content-Range", "bytes 4-9/10")],
            [("ETag", "\"a\""), ("Content-Type", "multipart/byteranges; boundary=x")],
        ])
    func misfit(answer: [(String, String)]) {
        #expect(verdict(206, answer) == .requestWhole)
    }

    @Test("A transfer identified by date resumes only with the same date and no unknown tag")
    func byDate() {
        let stored = [("Last-Modified", date(-50))]
        let range = ("Content-Range", "bytes 4-9/10")
        if case .proceed? = verdict(206, stored + [range], stored: stored) {} else { Issue.record("it does not go on") }
        #expect(verdict(206, [range], stored: stored) == .requestWhole)
        #expect(verdict(206, [("Last-Modified", date(-49)), range], stored: stored) == .requestWhole)
        #expect(verdict(206, stored + [range] + Self.tag, stored: stored) == .requestWhole)
    }

    @Test("A 200 restarts the body, a 304 requests the whole, and an error ends the resumption")
    func others() {
        #expect(verdict(200, []) == .restart)
        #expect(verdict(304, []) == .requestWhole)
        for status in [301, 403, 404, 412, 429, 500, 503] { #expect(verdict(status, []) == .answered) }
    }

    @Test("RFC 9110 15.5.17: A 416 completes the part only if its length and validator match")
    func behindTheEnd() {
        guard case .complete(let whole)? = verdict(416, [("Content-Range", "bytes */4")], total: nil) else {
            Issue.record("everything is there")
            return
        }
        #expect(whole.isComplete && whole.totalLength == 4)
        #expect(verdict(416, [("Content-Range", "bytes */4")]) == .requestWhole)
        #expect(verdict(416, [("Content-Range", "bytes */3")], total: nil) == .requestWhole)
        #expect(verdict(416, [("Content-Range", "bytes */4"), ("ETag", "\"b\"")], total: nil) == .requestWhole)
        #expect(verdict(416, []) == .requestWhole)
        let dated = [("Last-Modified", date(-1))]
        let other = [("Content-Range", "bytes */4"), ("ETag", "\"b\"")]
        #expect(verdict(416, other, stored: dated, total: nil) == .requestWhole)
    }

    @Test(
        "A stored part is resumed unless a newer complete response or the request prevents it"
    )
    func decided() throws {
        let part = Stage.entry(Self.tag + [("Cache-Control", "max-age=60")], id: 2, came: 10, bytes: 0..<4)
        guard case .resume(let resumption) = Stage.decide([part], now: 20) else {
            Issue.record("it is not gone on with")
            return
        }
        #expect(resumption.id?.rawValue == 2 && resumption.position == 0 && resumption.offset == 4)
        #expect(Stage.decide([part], now: 20).chosenPosition == 0)
        let older = Stage.entry([("ETag", "\"old\"")], id: 1)
        #expect(Stage.Use(Stage.decide([older, part], now: 20)) == .resumed)
        let newer = Stage.entry([("ETag", "\"new\"")], id: 3, came: 15)
        #expect(Stage.Use(Stage.decide([newer, part], now: 20)) == .asked)
        for request in [
            Stage.request([("Range", "bytes=0-8")]), Stage.request([("If-None-Match", "\"x\"")]),
            Stage.request(method: "HEAD"), Stage.request(policy: .noStore),
        ] {
            #expect(Stage.Use(Stage.decide([part], request, now: 20)) == .fetched, "\(request)")
        }
        #expect(Stage.Use(Stage.decide([part], Stage.request(policy: .onlyCached), now: 20)) == .failed)
    }
}
