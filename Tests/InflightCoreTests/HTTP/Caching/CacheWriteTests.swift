import Testing

@testable import InflightCore

@Suite("Cache writes at the end of a body", .timeLimit(.minutes(10)))
struct CacheWriteTests {
    /// A response with a strong validator and the bytes of `range`.
    private static func response(_ range: Range<Int64> = 0..<0, of length: Int64? = 100) -> StoredResponse {
        StoredResponse(
            method: "GET", url: "http://a.example/1", varyFields: HTTPFields(),
            head: CachingStage.head(200, [("ETag", "\"a\"")]), requestTime: at(0), responseTime: at(0),
            bodyRange: range, totalLength: length)
    }

    private static func id(_ number: Int64) -> StoredEntry.ID { StoredEntry.ID(rawValue: number) }

    private static let new = IncomingResponse(response: response(), end: 100)
    private static let whole = response(0..<100)

    private static func changes(_ bodyStorage: StoreChanges.BodyStorage) -> StoreChanges {
        var changes = StoreChanges()
        changes.bodyStorage = bodyStorage
        return changes
    }

    private static func writes(
        _ changes: StoreChanges, _ body: EndedBody, part: StoredEntry.ID? = nil, isWorthStoring: Bool = true
    ) -> [CacheWrite] {
        changes.writes(of: body, part: part) { _ in isWorthStoring }
    }

    @Test("Updates come first, invalidation covers both keys, and removals come last")
    func order() {
        var changes = Self.changes(.new(Self.new, replacing: [Self.id(3)]))
        changes.updates = [.init(id: Self.id(1), response: Self.whole)]
        changes.invalidated = ["http://a.example/2"]
        changes.removed = [Self.id(4)]
        let key = StoreKey("http://a.example/2")
        #expect(
            Self.writes(changes, EndedBody(count: 100, receivedBytes: 100, isWhole: true)) == [
                .update(Self.id(1), Self.whole), .invalidate(key), .invalidate(ProcessedImages.key(key)),
                .keep(Self.whole, replacing: [Self.id(3)], part: nil), .remove([Self.id(4)]),
            ])
        #expect(Self.writes(StoreChanges(), EndedBody(count: 9, receivedBytes: 9, isWhole: true)).isEmpty)
    }

    @Test("The complete body replaces the part stored while it arrived")
    func part() {
        let writes = Self.writes(
            Self.changes(.new(Self.new, replacing: [Self.id(3)])),
            EndedBody(count: 100, receivedBytes: 100, isWhole: true),
            part: Self.id(7))
        #expect(writes == [.keep(Self.whole, replacing: [Self.id(3), Self.id(7)], part: Self.id(7))])
    }

    @Test("A stored part survives a broken exchange and is removed if the whole is not worth storing")
    func unworthy() {
        let changes = Self.changes(.new(Self.new, replacing: []))
        let broken = EndedBody(count: 60, receivedBytes: 60, isWhole: false)
        #expect(Self.writes(changes, broken, part: Self.id(7), isWorthStoring: false).isEmpty)
        #expect(
            Self.writes(changes, broken, part: Self.id(7)) == [
                .keep(Self.response(0..<60), replacing: [Self.id(7)], part: Self.id(7))
            ])
        let whole = EndedBody(count: 100, receivedBytes: 100, isWhole: true)
        #expect(Self.writes(changes, whole, part: Self.id(7), isWorthStoring: false) == [.remove([Self.id(7)])])
        // The body is longer than its head declares.
        let long = EndedBody(count: 101, receivedBytes: 101, isWhole: true)
        #expect(Self.writes(changes, long, part: Self.id(7)) == [.remove([Self.id(7)])])
    }

    @Test("If the range request gets no response, the bytes received before it are stored")
    func withoutRest() {
        let body = EndedBody(count: 60, receivedBytes: 0, bytesBeforeRest: 60, isWhole: false)
        let writes = Self.writes(Self.changes(.new(Self.new, replacing: [])), body)
        #expect(writes == [.keep(Self.response(0..<60), replacing: [], part: nil)])
    }

    @Test("A partial response extends an entry without the bytes the entry already has")
    func extending() {
        let rest = IncomingResponse(response: Self.response(0..<40), end: 100)
        let changes = Self.changes(.extending(Self.id(5), rest, leavingOut: 10))
        #expect(
            Self.writes(changes, EndedBody(count: 70, receivedBytes: 70, isWhole: true)) == [
                .extend(Self.id(5), leavingOut: 10, Self.whole, at: 40)
            ])
        #expect(Self.writes(changes, EndedBody(count: 9, receivedBytes: 9, isWhole: false)).isEmpty)
    }

    @Test("Each invalidated URL yields the keys of its response and of its processed images")
    func keys() {
        var changes = StoreChanges()
        changes.invalidated = ["http://a.example/1", "http://a.example/2"]
        #expect(changes.invalidatedKeys.count == 4 && Set(changes.invalidatedKeys).count == 4)
    }
}
