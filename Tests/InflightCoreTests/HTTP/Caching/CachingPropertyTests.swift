import InflightCore
import InflightTestSupport
import Testing

@Suite("Invariants of cache decisions", .timeLimit(.minutes(10)))
struct CachingPropertyTests {
    typealias Stage = CachingStage

    /// Generates random but plausible responses and requests.
    private struct World {
        var random: SeededGenerator

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
        }

        mutating func chance(_ one: Int) -> Bool { random.below(one) == 0 }

        private mutating func seconds() -> Int { [0, 1, 4, 5, 6, 60][random.below(6)] }

        private mutating func control(_ names: [String], _ numbers: [String]) -> (String, String) {
            var directives: [String] = []
            for name in names where chance(8) { directives.append(name) }
            for name in numbers where chance(3) { directives.append("\(name)=\(seconds())") }
            return ("Cache-Control", directives.shuffled(using: &random).joined(separator: ", "))
        }

        mutating func entry(id: Int64) -> StoredEntry {
            var answer = [
                control(
                    ["no-cache", "no-store", "must-revalidate", "immutable", "private", "public"],
                    ["max-age", "stale-while-revalidate", "stale-if-error"])
            ]
            if chance(2) { answer.append(("ETag", ["\"a\"", "\"b\"", "W/\"a\""][random.below(3)])) }
            if chance(2) { answer.append(("Last-Modified", date(-Double(seconds()) * 10))) }
            if chance(4) { answer.append(("Vary", "Foo")) }
            if chance(4) { answer.append(("Age", "\(seconds())")) }
            return Stage.entry(
                answer, status: [200, 200, 404, 503][random.below(4)], id: id, came: Double(random.below(3)),
                requestFields: chance(2) ? [("Foo", "1")] : [], bytes: chance(4) ? 0..<5 : 0..<10)
        }

        mutating func request() -> CachingRequest {
            var fields = [
                control(
                    ["no-cache", "no-store", "only-if-cached", "max-stale"], ["max-age", "min-fresh", "max-stale"])
            ]
            if fields[0].1.isEmpty || chance(2) { fields = [] }
            if chance(4) { fields.append(("Foo", "1")) }
            if chance(6) { fields.append(("Range", "bytes=\(random.below(12))-")) }
            if chance(6) { fields.append(("If-None-Match", "\"a\"")) }
            return Stage.request(
                fields, method: ["GET", "GET", "GET", "HEAD", "POST"][random.below(5)],
                policy: chance(2) ? .obey : ImageRequest.CachePolicy.allCases[random.below(5)])
        }
    }

    @Test(
        "No decision serves a forbidden response or contacts the server without permission",
        arguments: 1...5 as ClosedRange<UInt64>)
    func decisions(seed: UInt64) {
        var world = World(seed: seed)
        var served = 0
        for _ in 0..<200 {
            let found = (0..<world.random.below(4)).map { world.entry(id: Int64($0)) }
            let request = world.request()
            let now = [-100, 2, 5, 9, 70][world.random.below(5)] as Double
            let control = CacheControl(request: request.fields)
            let decision = CacheDecision.decide(found: found, request: request, now: at(now))
            let mayAsk = request.policy != .onlyCached && !control.onlyIfCached
            if !mayAsk { #expect(decision.exchange == nil && Stage.Use(decision) != .resumed) }
            guard let answer = decision.answer else {
                #expect(mayAsk || Stage.Use(decision) == .failed)
                continue
            }
            served += 1
            let stored = found[answer.position].response
            let own = stored.cacheControl
            #expect(!own.noStore && !own.noCache && !control.noCache && !control.noStore)
            #expect(request.method != "POST" && request.policy != .noStore)
            #expect(VaryFields.match(stored, request.fields))
            if request.policy == .refresh { #expect(own.isImmutable && !answer.isStale) }
            let isAllowedStale =
                request.policy == .preferCached || control.maxStale != nil || own.staleWhileRevalidate != nil
            if answer.isStale { #expect(!own.mustRevalidate && isAllowedStale) }
            if let bytes = answer.bytes {
                #expect(bytes.lowerBound >= 0 && bytes.upperBound <= Int64(stored.bodyRange.count))
                if answer.head.status != 206 { #expect(stored.isComplete && bytes == 0..<10) }
            }
        }
        #expect(served > 10)
    }

    @Test(
        "No outcome changes an entry that was not found or stores a forbidden response",
        arguments: 1...5 as ClosedRange<UInt64>)
    func outcomes(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<200 {
            let found = (0..<world.random.below(4)).map { world.entry(id: Int64($0)) }
            let request = world.request()
            let other = world.entry(id: 99).response
            var head = other.head
            head.status = [200, 206, 304, 404, 500, 503][world.random.below(6)]
            if head.status == 206 { head.fields.append("Content-Range", "bytes 5-9/10") }
            let outcome = Stage.outcome(head, found, request, now: 9)
            let changes = outcome.changes
            let ids = Set(found.map(\.id))
            var touched = changes.updates.map(\.id) + changes.removed
            switch changes.bodyStorage {
            case .nothing: break
            case .new(_, let replaced): touched += replaced
            case .extending(let id, let incoming, let leftOut):
                touched.append(id)
                let old = found.first { $0.id == id }?.response
                #expect(old?.sharesStrongValidator(with: head.fields) == true)
                #expect(leftOut >= 0 && incoming.response.bodyRange == old?.bodyRange)
            }
            #expect(ids.isSuperset(of: touched) && Set(touched).count == touched.count)
            if let kept = outcome.kept {
                #expect(!CacheControl(head.fields).noStore && !CacheControl(request: request.fields).noStore)
                #expect(request.policy != .noStore && request.method == "GET" && kept.response.head.status != 304)
            }
            for update in changes.updates {
                let before = found.first { $0.id == update.id }?.response
                #expect(update.response.bodyRange == before?.bodyRange)
                #expect(Freshness(of: update.response, at: at(9)).age < 100_000)
            }
            if case .resend(let exchange, _) = outcome {
                #expect(exchange.offered.isEmpty && exchange.setting["if-none-match"] == nil)
            }
        }
    }
}
