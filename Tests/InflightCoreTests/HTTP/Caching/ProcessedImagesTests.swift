import Testing

@testable import InflightCore

@Suite("Selection of stored processed images", .timeLimit(.minutes(10)))
struct ProcessedImagesTests {
    typealias Stage = CachingStage

    private static let fresh = ("Cache-Control", "max-age=60")

    private func picture(
        _ identity: String, _ answer: [(String, String)], id: Int64 = 1, came: Double = 0,
        sent: [(String, String)] = []
    ) -> StoredEntry {
        let original = Stage.entry(answer, came: came, requestFields: sent)
        let asking = ProcessedImages.request(Stage.request(sent), identity: identity)
        let stored = ProcessedImages.stored(madeOf: original.response, for: asking, type: .png, byteCount: 4)
        return StoredEntry(id: StoredEntry.ID(rawValue: id), response: stored ?? original.response)
    }

    private func choose(
        _ pictures: [StoredEntry], _ originals: [StoredEntry] = [], _ request: CachingRequest = Stage.request(),
        identity: String = "a", now: Double = 5
    ) -> Int? {
        ProcessedImages.choose(pictures, originals: originals, for: request, identity: identity, now: at(now))
    }

    @Test("The stored image with the requested identity and the most recent original is used")
    func identity() {
        let pictures = [
            picture("b", [Self.fresh]), picture("a", [Self.fresh]), picture("a", [Self.fresh], came: 2),
        ]
        #expect(choose(pictures) == 2)
        #expect(choose(pictures, identity: "b") == 0)
        #expect(choose(pictures, identity: "c") == nil)
        #expect(choose([Stage.entry([Self.fresh])]) == nil)
    }

    @Test("A stored image is used only if its freshness and the request allow it")
    func freshness() {
        #expect(choose([picture("a", [Self.fresh])], now: 59) == 0)
        #expect(choose([picture("a", [Self.fresh])], now: 61) == nil)
        #expect(choose([picture("a", [("Cache-Control", "no-cache"), ("ETag", "\"x\"")])]) == nil)
        #expect(choose([picture("a", [Self.fresh])], [], Stage.request([("Cache-Control", "max-age=2")])) == nil)
        #expect(choose([picture("a", [Self.fresh])], [], Stage.request(policy: .refresh)) == nil)
        #expect(choose([picture("a", [Self.fresh])], [], Stage.request(policy: .preferCached), now: 99) == 0)
    }

    @Test("A newer original rules out the stored image unless a strong validator matches")
    func newerBytes() {
        func chosen(_ old: [(String, String)], _ new: [(String, String)], now: Double = 20) -> Bool {
            choose([picture("a", old + [Self.fresh])], [Stage.entry(new, came: 10)], now: now) != nil
        }
        #expect(chosen([("ETag", "\"x\"")], [("ETag", "\"x\""), Self.fresh]))
        #expect(!chosen([("ETag", "\"x\"")], [("ETag", "\"y\""), Self.fresh]))
        #expect(!chosen([("ETag", "W/\"x\"")], [("ETag", "W/\"x\""), Self.fresh]))
        #expect(!chosen([], [Self.fresh]))
        // A Last-Modified that is old enough is a strong validator.
        #expect(chosen([("Last-Modified", date(-9))], [("Last-Modified", date(-9)), Self.fresh]))
        #expect(!chosen([("Last-Modified", date(-9))], [("Last-Modified", date(-8)), Self.fresh]))
        // The newer response's freshness applies to both.
        #expect(chosen([("ETag", "\"x\"")], [("ETag", "\"x\""), Self.fresh], now: 65))
        #expect(!chosen([("ETag", "\"x\"")], [("ETag", "\"x\""), ("Cache-Control", "max-age=5")]))
    }

    @Test("An older original or another variant does not rule out the stored image")
    func otherBytes() {
        let picture = picture("a", [Self.fresh, ("ETag", "\"x\"")], came: 10)
        #expect(choose([picture], [Stage.entry([("ETag", "\"old\""), Self.fresh])], now: 20) == 0)
        let other = Stage.entry(
            [("ETag", "\"y\""), ("Vary", "Accept")], came: 15, requestFields: [("Accept", "image/webp")])
        #expect(choose([picture], [other], Stage.request([("Accept", "image/png")]), now: 20) == 0)
        #expect(choose([picture], [other], Stage.request([("Accept", "image/webp")]), now: 20) == nil)
    }

    @Test("The stored image of the matching Vary variant is used")
    func varying() {
        let vary = [("Vary", "Accept"), Self.fresh]
        let pictures = [
            picture("a", vary, sent: [("Accept", "image/webp")]), picture("a", vary, sent: [("Accept", "image/png")]),
        ]
        #expect(choose(pictures, [], Stage.request([("Accept", "image/png")])) == 1)
        #expect(choose(pictures, [], Stage.request([("Accept", "image/gif")])) == nil)
        #expect(choose([picture("a", [("Vary", "*"), Self.fresh])]) == nil)
    }

    @Test("A stored image has its own length and type and no content coding")
    func stored() {
        let original = Stage.entry(
            [("Content-Type", "image/jpeg"), ("Content-Encoding", "gzip"), ("Content-Length", "10"), ("ETag", "\"x\"")])
        let stored = ProcessedImages.stored(
            madeOf: original.response, for: Stage.request(), type: .png, byteCount: 4)
        #expect(stored?.head.fields["content-type"] == "image/png")
        #expect(stored?.head.fields["content-length"] == "4")
        #expect(stored?.head.fields["content-encoding"] == nil)
        #expect(stored?.head.fields["etag"] == "\"x\"")
        #expect(stored?.isComplete == true)
    }
}
