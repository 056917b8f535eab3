import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

/// Header fields as a test writes them.
typealias Fields = [(name: String, value: String)]

/// An in-memory origin like that of the suite http-tests/cache-tests: it serves each request the next response, and a
/// 304 if the condition of the request holds.
extension StoreStage {
    /// Returns whether the store serves the second of two requests, `seconds` after the first response.
    func reuses(
        _ answer: Fields, status: Int = 200, after seconds: Int = 0, first: Fields = [], second: Fields = []
    ) async throws -> Bool {
        serve(
            Self.url, .status(status, Self.fields(answer.map { ($0.name, $0.value) }), body: Self.body(status, "one")),
            .status(status, Self.fields([("Cache-Control", "no-store")]), body: Self.body(status, "two")))
        let before = sent.count
        let one = try await ask(first)
        #expect(one.shown == "network \(status) \(status == 204 ? "" : "one")")
        clock.advance(by: .seconds(seconds))
        let two = try await ask(second)
        let isReused = two.source == .disk
        #expect(sent.count - before == (isReused ? 1 : 2))
        if isReused { #expect(two.body == one.body && two.head.status == status) }
        return isReused
    }

    private static func body(_ status: Int, _ text: String) -> Bytes { status == 204 ? .empty : Bytes(text) }

    func ask(
        _ fields: Fields = [], method: String = "GET", body: String? = nil, url: String = StoreStage.url
    ) async throws -> LoadedResponse {
        try await get(url) { request in
            request.method = method
            request.body = body.map { Bytes($0) }
            request.followsRedirects = false
            for (name, value) in fields { request.fields.append(name, value) }
        }
    }

    /// Serves `text` with `fields`, and a 304 with `fresh` to a request that has one of its validators.
    func serveValidated(_ text: String, _ fields: Fields, fresh: Fields = []) {
        let count = Guarded(0)
        transport.serve(Self.url) { [noteSent] request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            noteSent(request)
            let all = Self.fields(fields.map { ($0.name, $0.value) })
            let isHeld =
                request.fields["if-none-match"].map { $0.contains(all["etag"] ?? "none") }
                ?? (request.fields["if-modified-since"] != nil && all["last-modified"] != nil)
            guard isHeld, number > 1 else { return .ok(Bytes(text), fields: all) }
            return .status(304, Self.fields(fresh.map { ($0.name, $0.value) }))
        }
    }
}
