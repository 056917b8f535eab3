import InflightCore
import InflightTestSupport
import Testing

@Suite("Header fields read by the cache", .timeLimit(.minutes(10)))
struct FieldTests {
    private func tag(_ text: String) throws -> EntityTag { try #require(EntityTag(text)) }

    @Test("RFC 9110 8.8.3.2: Strong comparison requires two strong tags, and weak comparison ignores W/")
    func comparison() throws {
        // The table of RFC 9110 section 8.8.3.2.
        let table = [
            ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ]
        for (first, second, strong, weak) in table {
            #expect(try tag(first).stronglyEquals(tag(second)) == strong)
            #expect(try tag(first).weaklyEquals(tag(second)) == weak)
        }
    }

    @Test("RFC 9110 8.8.3: An entity tag keeps its bytes, and a malformed tag is rejected")
    func tags() throws {
        let bytes: [UInt8] = [0x22, 0x61, 0xFC, 0x22]
        #expect(EntityTag(bytes[...])?.text == bytes)
        #expect(try tag("\"\"").stronglyEquals(tag("\"\"")))
        #expect(try !tag("\"a\"").isWeak && tag("W/\"a\"").isWeak)
        // Some servers send unquoted tags and compare them when they return; such a tag is weak.
        #expect(try tag("abc").isWeak)
        for text in ["", "\"", "\"a\"b\"", "W/", "a b", "*", "a,b", "\"a\u{7F}\"", "W//\"a\"", "x\"a\""]
        where text != "W/" {
            #expect(EntityTag(text) == nil, "\(text)")
        }
    }

    @Test("A tag with a malformed weakness indicator is weak and kept unchanged", arguments: ["w/", "W", "w", "W\\"])
    func misspelt(indicator: String) throws {
        let misspelt = try tag(indicator + "\"a\"")
        #expect(misspelt.isWeak && misspelt.text == Array((indicator + "\"a\"").utf8))
        #expect(try misspelt.weaklyEquals(tag("\"a\"")) && misspelt.weaklyEquals(tag("W/\"a\"")))
        #expect(try !misspelt.stronglyEquals(tag("\"a\"")) && !misspelt.weaklyEquals(tag("\"b\"")))
        let line = ("If-None-Match", "\"c,d\", \(indicator)\"a\"")
        let condition = EntityTagCondition("if-none-match", of: fields([line]))
        #expect(try condition?.weaklyMatches(tag("W/\"a\"")) == true)
    }

    @Test("RFC 9110 13.1.2: If-None-Match allows several lines, commas within tags, and an asterisk")
    func conditions() throws {
        func condition(_ lines: String...) -> EntityTagCondition? {
            EntityTagCondition("if-none-match", of: fields(lines.map { ("If-None-Match", $0) }))
        }
        #expect(condition() == nil)
        #expect(condition("*") == .any)
        #expect(try condition("\"a\", W/\"b,c\"", " \"d\"") == .tags([tag("\"a\""), tag("W/\"b,c\""), tag("\"d\"")]))
        #expect(try condition("\"a\", W/\"b\"")?.weaklyMatches(tag("\"b\"")) == true)
        #expect(condition("*")?.weaklyMatches(nil) == true)
        #expect(condition("\"a\"")?.weaklyMatches(nil) == false)
    }

    @Test(
        "RFC 9110 14.1.2: A byte range resolves against the body length",
        arguments: [
            ("bytes=0-4", 0..<5), ("bytes=5-", 5..<10), ("bytes=-3", 7..<10), ("bytes=8-99", 8..<10),
            ("bytes=-99", 0..<10), ("BYTES=9-9", 9..<10), ("bytes= 0-4 ", 0..<5), ("bytes=10-", nil), ("bytes=-0", nil),
            ("bytes=99-100", nil), ("bytes=99999999999999999999-", nil),
        ] as [(String, Range<Int64>?)])
    func ranges(value: String, expected: Range<Int64>?) {
        guard case .one(let range) = RangeRequest(fields([("Range", value)])) else {
            Issue.record("\(value) was not read as one range")
            return
        }
        #expect(range.resolved(total: 10) == expected)
    }

    @Test("RFC 9110 14.2: A malformed Range is ignored, and several ranges are recognised")
    func otherRanges() {
        for value in ["lines=0-4", "bytes", "bytes=", "bytes=4-0", "bytes=a-b", "bytes=-", "bytes=1-2,x", "0-4"] {
            #expect(RangeRequest(fields([("Range", value)])) == .whole, "\(value)")
        }
        #expect(RangeRequest(fields([("Range", "bytes=0-1,5-6")])) == .several)
        #expect(RangeRequest(fields([("Range", "bytes=0-1"), ("Range", "bytes=5-6")])) == .several)
        #expect(ByteRange.last(3).resolved(total: 0) == nil)
    }

    @Test(
        "RFC 9110 14.4: A valid Content-Range is parsed and written back",
        arguments: [
            ("bytes 0-4/10", 0..<5, 10), ("bytes 0-4/*", 0..<5, nil), ("bytes */10", nil, 10),
            ("BYTES 9-9/10", 9..<10, 10),
        ] as [(String, Range<Int64>?, Int64?)])
    func contentRange(value: String, range: Range<Int64>?, total: Int64?) throws {
        let read = try #require(ContentRange(fields([("Content-Range", value)])))
        #expect(read.range == range)
        #expect(read.total == total)
        #expect(ContentRange.text(range, total: total) == value.lowercased())
    }

    @Test(
        "RFC 9110 14.4: A malformed or repeated Content-Range is ignored",
        arguments: [
            "bytes 4-0/10", "bytes 0-10/10", "bytes */*", "bytes 0-4", "bytes=0-4/10", "lines 0-4/10", "bytes -4/10",
            "bytes 0-/10", "bytes 0-4/10/10", "bytes 0-4/x", "", "bytes 0-9223372036854775807/*",
            "bytes 0-99999999999999999999/99999999999999999999",
        ])
    func badContentRange(value: String) {
        #expect(ContentRange(fields([("Content-Range", value)])) == nil)
        #expect(ContentRange(fields([("Content-Range", "bytes 0-4/10"), ("Content-Range", "bytes 0-4/10")])) == nil)
    }

    @Test("No field parser or cache decision traps on random bytes")
    func randomBytes() {
        var random = SeededGenerator(seed: 3)
        let pieces = [
            "max-age", "=", "\"", ",", " ", "\\", "no-cache", "W/", "bytes", "-", "/", "*", "9999999999999999999",
            "GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "\u{0}",
        ].map { Array($0.utf8) }
        let names = [
            "cache-control", "pragma", "etag", "if-none-match", "range", "content-range", "vary", "age", "expires",
            "date", "last-modified", "retry-after", "if-range", "connection", "content-length", "if-modified-since",
        ]
        for _ in 0..<4_000 {
            var request = HTTPFields()
            var answer = HTTPFields()
            for _ in 0..<random.below(6) {
                var value: [UInt8] = []
                for _ in 0..<random.below(6) {
                    value +=
                        random.below(3) == 0
                        ? [UInt8(truncatingIfNeeded: random.next())] : pieces[random.below(pieces.count)]
                }
                let name = Array(names[random.below(names.count)].utf8)
                if random.below(2) == 0 { request.append(name: name, value: value) }
                answer.append(name: name, value: value)
            }
            let head = ResponseHead(status: [200, 206, 304, 404, 503][random.below(5)], fields: answer)
            let now = WallTime(milliseconds: Int64(bitPattern: random.next()))
            let asked = CachingRequest(
                method: ["GET", "HEAD", "POST"][random.below(3)], url: CachingStage.url, fields: request,
                policy: ImageRequest.CachePolicy.allCases[random.below(5)])
            let stored = StoredResponse(
                method: "GET", url: asked.url, varyFields: VaryFields.of(request, for: head) ?? HTTPFields(),
                head: head, requestTime: WallTime(milliseconds: Int64(bitPattern: random.next())),
                responseTime: WallTime(milliseconds: Int64(bitPattern: random.next())), bodyRange: 0..<10,
                totalLength: random.below(2) == 0 ? 10 : nil)
            let found = [StoredEntry(id: StoredEntry.ID(rawValue: 1), response: stored)]
            let freshness = Freshness(of: stored, at: now)
            #expect(freshness.age >= 0 && freshness.lifetime >= 0)
            let decision = CacheDecision.decide(found: found, request: asked, now: now)
            if let answer = decision.answer {
                #expect(!stored.cacheControl.noStore || stored.cacheControl.mustUnderstand)
                #expect(!stored.cacheControl.noCache && asked.policy != .noStore)
                if let bytes = answer.bytes { #expect(bytes.lowerBound >= 0 && bytes.upperBound <= 10) }
            }
            _ = ResponseCacheDecision.decide(
                head: head, exchange: decision.exchange ?? CacheExchange(), found: found, request: asked,
                requestTime: now,
                responseTime: now)
            _ = Resumption(of: stored)?.verdict(on: head, requestTime: now, responseTime: now)
            _ = RetryAfter.milliseconds(answer, now: now)
        }
    }
}
