import InflightCore
import Testing

@Suite("Range requests on stored responses", .timeLimit(.minutes(10)))
struct RangeTests {
    typealias Stage = CachingStage

    private let fresh = [("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("Last-Modified", date(-50))]

    private func served(
        _ request: [(String, String)], bytes: Range<Int64> = 0..<10, total: Int64? = 10, status: Int = 200
    ) -> ServedResponse? {
        Stage.decide([Stage.entry(fresh, status: status, bytes: bytes, total: total)], Stage.request(request)).answer
    }

    @Test(
        "RFC 9110 15.3.7: A range of a complete stored response is served as 206",
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
        "RFC 9111 3.3: A stored part serves only the ranges within it",
        arguments: [
            ("bytes=4-8", 0..<5), ("bytes=6-8", 2..<5), ("bytes=3-5", nil), ("bytes=8-9", nil), ("bytes=6-", nil),
            ("bytes=-2", nil),
        ] as [(String, Range<Int64>?)])
    func fromPart(range: String, bytes: Range<Int64>?) {
        let answer = served([("Range", range)], bytes: 4..<9)
        #expect(answer?.bytes == bytes)
        if answer != nil { #expect(answer?.head.status == 206) }
    }

    @Test("RFC 9111 3.3: An incomplete response serves no request for the whole, no HEAD and no condition")
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
        "A stored part serves open-ended ranges only if its total length is known")
    func ends() {
        #expect(served([("Range", "bytes=-5")], bytes: 5..<10)?.bytes == 0..<5)
        #expect(served([("Range", "bytes=7-")], bytes: 5..<10)?.bytes == 2..<5)
        #expect(served([("Range", "bytes=7-")], bytes: 5..<10, total: nil) == nil)
        #expect(
            served([("Range", "bytes=7-8")], bytes: 5..<10, total: nil)?.head.fields["content-range"] == "bytes 7-8/*")
    }

    @Test("RFC 9110 15.5.17: A range past the end gets a 416 with the length")
    func behindTheEnd() {
        let answer = served([("Range", "bytes=10-")])
        #expect(answer?.head.status == 416 && answer?.bytes == nil)
        #expect(answer?.head.fields["content-range"] == "bytes */10")
    }

    @Test("RFC 9110 14.2: Several ranges, other units and other statuses get the whole body")
    func whole() {
        for value in ["bytes=0-1,5-6", "lines=0-1", "bytes=x"] {
            let answer = served([("Range", value)])
            #expect(answer?.head.status == 200 && answer?.bytes == 0..<10, "\(value)")
        }
        #expect(served([("Range", "bytes=0-1")], status: 404)?.head.status == 404)
    }

    @Test("RFC 9110 13.1.5: A range applies only if If-Range strongly matches the stored validator")
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

    @Test("RFC 9110 14.2: HEAD ignores Range")
    func head() {
        let request = Stage.request([("Range", "bytes=0-1")], method: "HEAD")
        #expect(Stage.decide([Stage.entry(fresh)], request).answer?.head.status == 200)
    }

    // MARK: Incoming partial responses

    private func outcome(
        _ range: String, _ answer: [(String, String)], _ entries: [StoredEntry]
    ) -> ResponseCacheDecision {
        Stage.outcome(
            Stage.head(206, [("Content-Range", range)] + answer), entries, Stage.request([("Range", "bytes=0-")]))
    }

    @Test("RFC 9111 3.4: An adjoining partial response extends the stored part without overlapping bytes")
    func combined() throws {
        let entry = Stage.entry([("ETag", "\"a\""), ("X", "1"), ("Content-Length", "10")], bytes: 0..<5)
        let outcome = outcome("bytes 3-9/10", [("ETag", "\"a\""), ("X", "2")], [entry])
        guard case .extending(let id, let incoming, let leftOut) = outcome.changes.bodyStorage else {
            Issue.record("it was not added")
            return
        }
        #expect(id.rawValue == 1 && leftOut == 2 && incoming.end == 10)
        let whole = try #require(incoming.ended(after: 5, isWhole: true))
        #expect(whole.isComplete && whole.head.status == 200 && whole.head.fields["x"] == "2")
        #expect(!whole.head.fields.contains("content-range") && whole.head.fields["content-length"] == "10")
    }

    @Test("RFC 9111 3.4: Parts without the same strong validator and total length are never combined")
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
            let bodyStorage = outcome(range, new, [Stage.entry(old, bytes: 0..<5)]).changes.bodyStorage
            if case .extending = bodyStorage { Issue.record("\(old) and \(new) were combined") }
        }
    }

    @Test("RFC 9111 3.4: A partial response within the stored body only updates its fields")
    func known() {
        let entry = Stage.entry([("ETag", "\"a\""), ("X", "1")])
        let outcome = outcome("bytes 3-5/10", [("ETag", "\"a\""), ("X", "2")], [entry])
        #expect(outcome.changes.bodyStorage == .nothing)
        #expect(outcome.changes.updates.first?.response.head.fields["x"] == "2")
        #expect(outcome.changes.updates.first?.response.bodyRange == 0..<10)
    }

    @Test("A partial response of a newer version replaces the stored part of the older one")
    func newerVersion() {
        let entry = Stage.entry([("ETag", "\"a\"")], bytes: 0..<5)
        guard case .new(_, let replaced) = outcome("bytes 5-9/10", [("ETag", "\"b\"")], [entry]).changes.bodyStorage
        else {
            Issue.record("it was not kept")
            return
        }
        #expect(replaced.map(\.rawValue) == [1])
    }
}
