import Testing

@testable import InflightCore

@Suite("Cookies of a pipeline in keys", .timeLimit(.minutes(10)))
struct CookieKeyTests {
    private let store = ImagePipeline.CookieStore()
    private let url = "http://a.example/1"

    private func plan(_ excluded: Set<String> = [], varying: Set<String> = []) throws -> RequestPlan {
        try RequestPlan(
            ImageRequest(url), goal: .image, fieldsExcludedFromKey: excluded, varying: varying, cookieStore: store)
    }

    private func set(_ cookie: String, from url: String? = nil) throws {
        store.store(
            HTTPFields([("Set-Cookie", cookie)]), from: try ResourceURL(url ?? self.url), sentAfter: try plan().cookies
        ) { _ in
            nil
        }
    }

    @Test("The cookies that a request sends are part of its keys, in memory and in the store")
    func keys() throws {
        let none = try plan()
        try set("a=1", from: "http://b.example/")
        #expect(try plan().finalKey == none.finalKey, "another host's cookie is not sent")
        try set("a=1")
        let first = try plan()
        #expect(first.finalKey != none.finalKey && first.key(at: 0) != none.key(at: 0))
        #expect(try plan().finalKey == first.finalKey)
        #expect(first.memoryPlan([])?.finalKey == first.finalKey)
        try set("a=2")
        let second = try plan()
        #expect(second.finalKey != first.finalKey)
        let resources = [none, first, second].map { $0.resource(after: nil, fieldsExcludedFromKey: []).rest }
        #expect(Set(resources).count == 3)
        let stored = [none, first, second].map {
            $0.stored(after: nil, defaultFields: HTTPFields(), fieldsExcludedFromKey: []).1.fields["cookie"]
        }
        #expect(stored == [nil, "a=1", "a=2"])
        store.removeAll()
        #expect(try plan().finalKey == none.finalKey)
        #expect(first.outgoingCookie == "a=1", "chosen once")
    }

    @Test("A configuration may leave Cookie out of the keys, unless the response varies by it")
    func excluded() throws {
        let none = try (plan(["cookie"]), plan(["cookie"], varying: ["cookie"]))
        try set("a=1")
        let one = try (plan(["cookie"]), plan(["cookie"], varying: ["cookie"]))
        #expect(one.0.finalKey == none.0.finalKey)
        #expect(one.1.finalKey != none.1.finalKey)
    }
}

extension RequestPlan {
    fileprivate var outgoingCookie: String? {
        outgoing(
            after: nil, defaultFields: HTTPFields(), limits: TransportRequest.Limits(), priority: .normal
        ).fields["cookie"]
    }
}
