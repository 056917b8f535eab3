import Testing

@testable import InflightCore

@Suite("Ranges out of a store", .timeLimit(.minutes(10)))
struct RangeTests {
    typealias Stage = CachingStage

    private let fresh = [("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Last-Modified", date(-50))]

    private func served(
        _ request: [(String, String)], bytes: Range<Int64> = 0..<10, total: Int64? = 10, status: Int = 200
    ) -> StoredAnswer? {
        Stage.decide([Stage.entry(fresh, status: status, bytes: bytes, total: total)], Stage.request(request)).answer
    }

    @Test(
        "RFC 9110 15.3.7: a range of a whole answer is served as 206",
        arguments: [
            ("bytes=0-1", 0..<2, "bytes 0-1/10"), ("bytes=1-", 1..<10, "bytes 1-9/10"),
            ("bytes=-1", 9..<10, "bytes 9-9/10"),
            ("bytes=8-99", 8..<10, "bytes 8-9/10"),
        ] as [(String, Range<Int64>, String)])
    func fromWhole(range: String, bytes: Range<Int64>, contentRange: String) throws {
        let answer = try #require(served([("Range", range)]))
        #expect(answer.head.status == 206 && answer.bytes == bytes)
        #expect(answer.head.fields.values("content-range") == [contentRange])
        #expect(answer.head.fields.values("content-length") == ["\(bytes.count)"])
        #expect(answer.head.fields["etag"] == "\"a\"")
    }

    @Test(
        "RFC 9111 3.3: a range within a stored part is served from it, and nothing else is",
        arguments: [
            ("bytes=4-8", 0..<5), ("bytes=6-8", 2..<5), ("bytes=3-5", nil), ("bytes=8-9", nil), ("bytes=6-", nil),
            ("bytes=-2", nil),
        ] as [(String, Range<Int64>?)])
    func fromPart(range: String, bytes: Range<Int64>?) {
        let answer = served([("Range", range)], bytes: 4..<9)
        #expect(answer?.bytes == bytes)
        if answer != nil { #expect(answer?.head.status == 206) }
    }

    @Test("RFC 9111 3.3: an incomplete answer never answers a request for the whole, nor HEAD, nor a condition")
    func incomplete() {
        let entry = Stage.entry(fresh, bytes: 0..<9)
        for request in [
            Stage.request(), Stage.request(method: "HEAD"), Stage.request([("If-None-Match", "\"a\"")]),
            Stage.request(policy: .preferCached), Stage.request([("Range", "bytes=0-1,5-6")]),
        ] {
            #expect(Stage.decide([entry], request).answer == nil, "\(request)")
        }
    }

    @Test(
        "a part at the end whose length is known serves ranges that run to the end; one whose length is not, no suffix")
    func ends() {
        #expect(served([("Range", "bytes=-5")], bytes: 5..<10)?.bytes == 0..<5)
        #expect(served([("Range", "bytes=7-")], bytes: 5..<10)?.bytes == 2..<5)
        #expect(served([("Range", "bytes=7-")], bytes: 5..<10, total: nil) == nil)
        #expect(
            served([("Range", "bytes=7-8")], bytes: 5..<10, total: nil)?.head.fields["content-range"] == "bytes 7-8/*")
    }

    @Test("RFC 9110 15.5.17: a range behind the end is answered by 416 with the length")
    func behindTheEnd() {
        let answer = served([("Range", "bytes=10-")])
        #expect(answer?.head.status == 416 && answer?.bytes == nil)
        #expect(answer?.head.fields["content-range"] == "bytes */10")
    }

    @Test("RFC 9110 14.2: several ranges, other units and other statuses get the whole")
    func whole() {
        for value in ["bytes=0-1,5-6", "lines=0-1", "bytes=x"] {
            let answer = served([("Range", value)])
            #expect(answer?.head.status == 200 && answer?.bytes == 0..<10, "\(value)")
        }
        #expect(served([("Range", "bytes=0-1")], status: 404)?.head.status == 404)
    }

    @Test("RFC 9110 13.1.5: the range counts only where If-Range names what is stored, by strong comparison")
    func ifRange() {
        func status(_ value: String) -> Int? {
            served([("Range", "bytes=0-1"), ("If-Range", value)])?.head.status
        }
        #expect(status("\"a\"") == 206)
        #expect(status("\"b\"") == 200)
        #expect(status("W/\"a\"") == 200)
        #expect(status(date(-50)) == 206)
        #expect(status(date(-51)) == 200)
        #expect(status("") == 200)
    }

    @Test("RFC 9110 14.2: HEAD knows no range")
    func head() {
        let request = Stage.request([("Range", "bytes=0-1")], method: "HEAD")
        #expect(Stage.decide([Stage.entry(fresh)], request).answer?.head.status == 200)
    }

    // MARK: Parts that come

    private func outcome(
        _ range: String, _ answer: [(String, String)], _ entries: [StoredEntry]
    ) -> CacheOutcome {
        Stage.outcome(
            Stage.head(206, [("Content-Range", range)] + answer), entries, Stage.request([("Range", "bytes=0-")]))
    }

    @Test("RFC 9111 3.4: a part that goes on where a stored one ends is added to it, without what is there already")
    func combined() throws {
        let entry = Stage.entry([("ETag", "\"a\""), ("X", "1"), ("Content-Length", "10")], bytes: 0..<5)
        let outcome = outcome("bytes 3-9/10", [("ETag", "\"a\""), ("X", "2")], [entry])
        guard case .extending(let id, let incoming, let leftOut) = outcome.changes.keeping else {
            Issue.record("it was not added")
            return
        }
        #expect(id.rawValue == 1 && leftOut == 2 && incoming.end == 10)
        let whole = try #require(incoming.ended(after: 5, isWhole: true))
        #expect(whole.isComplete && whole.head.status == 200 && whole.head.fields["x"] == "2")
        #expect(!whole.head.fields.contains("content-range") && whole.head.fields["content-length"] == "10")
    }

    @Test("RFC 9111 3.4: parts without one and the same strong validator, or of two lengths, are never combined")
    func notCombined() {
        let table: [([(String, String)], [(String, String)], String)] = [
            ([("ETag", "\"a\"")], [("ETag", "\"b\"")], "bytes 5-9/10"),
            ([("ETag", "W/\"a\"")], [("ETag", "W/\"a\"")], "bytes 5-9/10"),
            ([("ETag", "\"a\"")], [], "bytes 5-9/10"), ([], [], "bytes 5-9/10"),
            ([("ETag", "\"a\"")], [("ETag", "\"a\"")], "bytes 5-9/11"),
            ([("ETag", "\"a\"")], [("ETag", "\"a\"")], "bytes 6-9/10"),
            ([("Last-Modified", date(0))], [("Last-Modified", date(0))], "bytes 5-9/10"),
        ]
        for (old, new, range) in table {
            let keeping = outcome(range, new, [Stage.entry(old, bytes: 0..<5)]).changes.keeping
            if case .extending = keeping { Issue.record("\(old) and \(new) were combined") }
        }
    }

    @Test("RFC 9111 3.4: a part of what is there already only updates it")
    func known() {
        let entry = Stage.entry([("ETag", "\"a\""), ("X", "1")])
        let outcome = outcome("bytes 3-5/10", [("ETag", "\"a\""), ("X", "2")], [entry])
        #expect(outcome.changes.keeping == .nothing)
        #expect(outcome.changes.updates.first?.response.head.fields["x"] == "2")
        #expect(outcome.changes.updates.first?.response.bodyRange == 0..<10)
    }

    @Test("a part of a newer version takes the place of what there is of an older one")
    func newerVersion() {
        let entry = Stage.entry([("ETag", "\"a\"")], bytes: 0..<5)
        guard case .new(_, let replaced) = outcome("bytes 5-9/10", [("ETag", "\"b\"")], [entry]).changes.keeping else {
            Issue.record("it was not kept")
            return
        }
        #expect(replaced.map(\.rawValue) == [1])
    }
}
