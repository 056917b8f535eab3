import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@Suite("Resumption and retries", .timeLimit(.minutes(10)))
struct ResumeTests {
    private static let text = String((0..<40_000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
    private static let tag = ("ETag", "\"strong\"")
    private static let cut = 30_000

    private static func part(_ start: Int, tag: (String, String) = ResumeTests.tag) -> ScriptedTransport.Script {
        .partial(
            Bytes(String(text.dropFirst(start))), from: start, of: text.utf8.count,
            fields: HTTPFields([tag, ("Date", StoreStage.date)]))
    }

    private static let broken = StoreStage.ok(text, tag).failing(.truncated, after: cut)

    private static var twoMore: RetryPolicy {
        var policy = RetryPolicy()
        policy.firstDelay = .seconds(1)
        return policy
    }

    @Test("A broken transfer resumes within the same request")
    func sameLoad() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        stage.serve(StoreStage.url, Self.broken, Self.part(Self.cut))
        let text = try await stage.waited { try await stage.data() }
        #expect(text == Self.text)
        #expect(stage.sent.last?.fields["range"] == "bytes=\(Self.cut)-")
        #expect(stage.sent.last?.fields["if-range"] == "\"strong\"")
        #expect(stage.sent.count == 2)
        // The store has the complete body.
        #expect(stage.store.entries.map(\.response.isComplete) == [true])
        await stage.end()
    }

    @Test("A broken transfer resumes within the same request without a store")
    func withoutStore() async throws {
        let stage = try StoreStage(retry: Self.twoMore) { $0.store = nil }
        stage.serve(StoreStage.url, Self.broken, Self.part(Self.cut))
        let text = try await stage.waited { try await stage.data() }
        #expect(text == Self.text)
        await stage.end()
    }

    @Test("The part received by a failed request is stored, and the next request fetches the rest")
    func nextLoad() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, Self.broken, Self.part(Self.cut))
        await #expect(throws: LoadError.self) { try await stage.data() }
        await stage.settled()
        #expect(stage.store.entries.map(\.response.bodyRange) == [0..<Int64(Self.cut)])
        #expect(try await stage.data() == Self.text)
        #expect(stage.sent.last?.fields["range"] == "bytes=\(Self.cut)-")
        #expect(stage.store.entries.map(\.response.isComplete) == [true])
        await stage.end()
    }

    @Test("A stored part survives failed retries and is replaced by the complete body")
    func failingRest() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        let unreachable = ScriptedTransport.Script.failure(.cannotConnect)
        stage.serve(StoreStage.url, Self.broken, unreachable, unreachable, unreachable, Self.part(Self.cut))
        await #expect(throws: LoadError.self) { try await stage.waited { try await stage.data() } }
        await stage.settled()
        #expect(stage.store.entries.map(\.response.bodyRange) == [0..<Int64(Self.cut)])
        #expect(try await stage.waited { try await stage.data() } == Self.text)
        #expect(stage.sent.dropFirst().allSatisfy { $0.fields["range"] == "bytes=\(Self.cut)-" })
        #expect(stage.sent.count == 5)
        #expect(stage.store.entries.map(\.response.isComplete) == [true])
        await stage.end()
    }

    @Test("A part is never combined with a part of another version")
    func changed() async throws {
        let stage = try StoreStage()
        let other = ("ETag", "\"other\"")
        stage.serve(
            StoreStage.url, Self.broken, Self.part(Self.cut, tag: other), StoreStage.ok("a new version", other))
        await #expect(throws: LoadError.self) { try await stage.data() }
        #expect(try await stage.data() == "a new version")
        #expect(stage.sent.count == 3)
        #expect(stage.sent.last?.fields.contains("range") == false)
        await stage.end()
    }

    @Test("A 200 to a range request restarts the body")
    func afresh() async throws {
        let stage = try StoreStage()
        stage.serve(StoreStage.url, Self.broken, StoreStage.ok("another version", ("ETag", "\"b\"")))
        await #expect(throws: LoadError.self) { try await stage.data() }
        #expect(try await stage.data() == "another version")
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A 416 with the stored length completes the body")
    func beyondTheEnd() async throws {
        let stage = try StoreStage()
        // Without a Content-Length, the last byte is not known to be the last.
        let whole = ScriptedTransport.Script.ok(
            Bytes(Self.text), fields: StoreStage.fields([Self.tag]), tellsLength: false)
        stage.serve(
            StoreStage.url, whole.failing(.truncated, after: Self.text.utf8.count),
            .status(416, HTTPFields([("Content-Range", "bytes */\(Self.text.utf8.count)"), Self.tag])))
        await #expect(throws: LoadError.self) { try await stage.data() }
        #expect(try await stage.data() == Self.text)
        #expect(stage.sent.count == 2)
        await stage.end()
    }

    @Test("A transfer without a strong validator is restarted, not resumed, and no part of it is stored")
    func weak() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        let weak = ("ETag", "W/\"weak\"")
        stage.serve(
            StoreStage.url, StoreStage.ok(Self.text, weak).failing(.truncated, after: Self.cut),
            StoreStage.ok(Self.text, weak))
        #expect(try await stage.waited { try await stage.data() } == Self.text)
        #expect(stage.sent.last?.fields.contains("range") == false)
        await stage.end()
        let other = try StoreStage()
        other.serve(StoreStage.url, StoreStage.ok(Self.text, weak).failing(.truncated, after: Self.cut))
        await #expect(throws: LoadError.self) { try await other.data() }
        await other.settled()
        #expect(other.store.entries.isEmpty)
        await other.end()
    }

    @Test("A request with a transient failure is retried twice and then fails")
    func tries() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        stage.serve(StoreStage.url, .failure(.cannotConnect))
        do {
            _ = try await stage.waited { try await stage.data() }
            Issue.record("there was nobody to answer")
        } catch let error as LoadError {
            #expect(error.code == .cannotConnect)
        }
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    // MARK: Progress

    /// Serves a body of zeros, of which each response delivers `piece` bytes and breaks off.
    ///
    /// - Parameter stalls: whether each response stalls before its body until the offset of its first byte is released.
    private func serve(
        _ total: Int, inPiecesOf piece: Int, ranges: Bool = true, tag: (String, String) = ResumeTests.tag,
        stalls: Bool = false, on stage: StoreStage
    ) {
        stage.transport.serve(StoreStage.url) { [noteSent = stage.noteSent] request in
            noteSent(request)
            let range = ranges ? request.fields["range"] : nil
            let start = range.flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            let rest = Bytes([UInt8](repeating: 0, count: total - start))
            let fields = HTTPFields([tag, ("Date", StoreStage.date), ("Content-Length", "\(rest.count)")])
            let response: ScriptedTransport.Script =
                start > 0 ? .partial(rest, from: start, of: total, fields: fields) : .ok(rest, fields: fields)
            let cut = start + piece < total ? response.failing(.truncated, after: piece) : response
            return stalls ? cut.stalled("\(start)") : cut
        }
    }

    private func failure(_ stage: StoreStage, _ change: @escaping @Sendable (inout ImageRequest) -> Void = { _ in })
        async -> LoadError.Code?
    {
        do {
            _ = try await stage.waited {
                try await stage.data { request in
                    // The clock advances to every timer, that of a rate included.
                    request.limits.minimumBytesPerSecond = 0
                    change(&request)
                }
            }
            return nil
        } catch {
            return (error as? LoadError)?.code
        }
    }

    @Test(
        "Attempts that bring 16 KiB or 1 % of a body do not count against the retries",
        arguments: [(121_000, 30_000, 5), (3_000_000, 16_384, 100), (10_000, 100, 100), (1_000_000, 10_000, 100)])
    func progress(total: Int, piece: Int, requests: Int) async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        serve(total, inPiecesOf: piece, on: stage)
        if total <= 100 * piece {
            #expect(await failure(stage) == nil)
            #expect(stage.sent.count == requests)
            #expect(stage.store.entries.map(\.response.isComplete) == [true])
        } else {
            // At most 100 attempts, and then the first one that counts and two retries.
            #expect(await failure(stage) == .truncated)
            #expect(stage.sent.count == requests + 3)
        }
        await stage.end()
    }

    @Test("Attempts that bring less count against the retries", arguments: [(2_000_000, 16_383), (10_000, 99)])
    func tooLittleProgress(total: Int, piece: Int) async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        serve(total, inPiecesOf: piece, on: stage)
        #expect(await failure(stage) == .truncated)
        #expect(stage.sent.count == 3)
        await stage.end()
    }

    @Test("A body that begins anew after each interruption makes no progress")
    func beginsAnew() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        serve(121_000, inPiecesOf: 30_000, ranges: false, on: stage)
        #expect(await failure(stage) == .truncated)
        // The first attempt made progress.
        #expect(stage.sent.count == 4)
        let weak = try StoreStage(retry: Self.twoMore)
        serve(121_000, inPiecesOf: 30_000, tag: ("ETag", "W/\"weak\""), on: weak)
        #expect(await failure(weak) == .truncated)
        #expect(weak.sent.count == 3)
        for stage in [stage, weak] { await stage.end() }
    }

    @Test("Progress neither outlasts the total timeout nor enables retries that are disabled")
    func progressAndLimits() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        serve(121_000, inPiecesOf: 30_000, stalls: true, on: stage)
        let load = Task {
            try await stage.data {
                $0.limits.totalTimeout = .seconds(5)
                $0.limits.minimumBytesPerSecond = 0
            }
        }
        // Each attempt takes two seconds.
        for attempt in 0..<3 {
            try await stage.transport.waitForStarts(attempt + 1)
            stage.clock.advance(by: .seconds(2))
            guard attempt < 2 else { break }
            stage.transport.release("\(30_000 * attempt)")
            // The timer of the total time is gone when that of the wait is set.
            try await eventually("a wait before a retry") { stage.pipeline.statistics.running[.fetch] == 0 }
            try await stage.clock.waitForTimers()
            stage.clock.advanceToNextTimer()
        }
        do {
            _ = try await load.value
            Issue.record("the load outlasted its timeout")
        } catch {
            #expect((error as? LoadError)?.code == .timedOut)
        }
        #expect(stage.sent.count == 3)
        var never = RetryPolicy()
        never.maximumRetries = 0
        let once = try StoreStage(retry: never)
        serve(121_000, inPiecesOf: 30_000, on: once)
        #expect(await failure(once) == .truncated)
        #expect(once.sent.count == 1)
        for stage in [stage, once] { await stage.end() }
    }

    @Test("Progress takes nothing from the retry budget of an origin")
    func progressAndBudget() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        serve(10_000, inPiecesOf: 500, on: stage)
        #expect(await failure(stage) == nil)
        for number in 0..<5 { stage.serve("http://a.example/\(number)x", .failure(.cannotConnect)) }
        for number in 0..<5 {
            _ = try? await stage.waited { try await stage.data("http://a.example/\(number)x") }
        }
        #expect(stage.sent.count == 20 + 5 * 3)
        await stage.end()
    }

    @Test(
        "The retry budget of a failing origin runs out and refills by first attempts")
    func budget() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        for number in 0..<40 { stage.serve("http://a.example/\(number)", .failure(.cannotConnect)) }
        for number in 0..<40 {
            _ = try? await stage.waited { try await stage.data("http://a.example/\(number)") }
        }
        // Ten retries at the start, and a tenth of one for each first attempt after the first failure.
        #expect(stage.sent.count == 40 + 10 + 3)
        await stage.end()
    }

    @Test("A permanent error status is not retried", arguments: [404, 501])
    func hopeless(status: Int) async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        stage.serve(StoreStage.url, .status(status))
        await #expect(throws: LoadError.self) { try await stage.data() }
        #expect(stage.sent.count == 1)
        await stage.end()
    }

    @Test("A Retry-After is waited for, and one beyond the limit is reported and remembered")
    func retryAfter() async throws {
        let stage = try StoreStage(retry: Self.twoMore)
        stage.serve(
            StoreStage.url, .status(503, HTTPFields([("Retry-After", "20")])), StoreStage.ok("at last"))
        let start = stage.clock.now()
        #expect(try await stage.waited { try await stage.data() } == "at last")
        #expect(stage.clock.now() - start >= .seconds(20))
        stage.serve("http://a.example/2", .status(429, HTTPFields([("Retry-After", "3600")])))
        do {
            _ = try await stage.data("http://a.example/2")
            Issue.record("it was not to be asked")
        } catch let error as LoadError {
            #expect(error.message.contains("3600 s"))
        }
        // While the failure is remembered, only a refresh contacts the server.
        await #expect(throws: LoadError.self) { try await stage.data("http://a.example/2") }
        #expect(stage.sent.count == 3)
        await #expect(throws: LoadError.self) {
            try await stage.data("http://a.example/2") { $0.cachePolicy = .refresh }
        }
        #expect(stage.sent.count == 4)
        stage.clock.advance(by: .seconds(61))
        await #expect(throws: LoadError.self) { try await stage.data("http://a.example/2") }
        #expect(stage.sent.count == 5)
        await stage.end()
    }

    @Test("The total timeout excludes the backoff and the wait for a fetch slot")
    func deadlineAfterSleep() async throws {
        let stage = try StoreStage(retry: Self.twoMore) { $0.maximumConcurrentFetches = 1 }
        stage.serve(
            StoreStage.url, [.status(503, HTTPFields([("Retry-After", "20")])), StoreStage.ok("one")])
        stage.serve("http://a.example/2", StoreStage.ok("two").stalled("two"))
        let sleeper = Task { try await stage.data { $0.limits.totalTimeout = .seconds(5) } }
        // The timer of the total time comes before that of the backoff.
        try await eventually("the backoff") {
            stage.clock.nextDeadline.map { $0 >= stage.clock.now() + .seconds(20) } ?? false
        }
        let other = Task { try await stage.data("http://a.example/2") { $0.limits.totalTimeout = nil } }
        try await stage.transport.waitForStarts(2)
        // The backoff ends while the only fetch slot is taken.
        stage.clock.advance(by: .seconds(21))
        stage.clock.advance(by: .seconds(6))
        stage.transport.release("two")
        #expect(try await other.value == "two")
        #expect(try await sleeper.value == "one")
        await stage.end()
    }

    @Test("The wait for a fetch slot after a lookup in the store does not count towards the total timeout")
    func waitAfterLookup() async throws {
        let stage = try StoreStage { $0.maximumConcurrentFetches = 1 }
        stage.serve(StoreStage.url, StoreStage.ok("one"))
        stage.serve("http://a.example/2", StoreStage.ok("two").stalled("two"))
        let other = Task { try await stage.data("http://a.example/2") }
        try await stage.transport.waitForStarts(1)
        let waiting = Task { try await stage.data { $0.limits.totalTimeout = .seconds(5) } }
        try await eventually("a load that waits for the slot") { stage.pipeline.statistics.waiting[.fetch] == 1 }
        stage.clock.advance(by: .seconds(20))
        stage.transport.release("two")
        #expect(try await other.value == "two")
        #expect(try await waiting.value == "one")
        await stage.end()
    }

    @Test("A request in backoff holds no fetch slot, and cancelling it ends the backoff at once")
    func sleeping() async throws {
        let stage = try StoreStage(retry: Self.twoMore) { $0.maximumConcurrentFetches = 1 }
        stage.serve(StoreStage.url, .failure(.cannotConnect))
        stage.serve("http://a.example/2", StoreStage.ok("two"))
        let sleeper = Task { try await stage.data() }
        try await stage.clock.waitForTimers()
        #expect(try await stage.data("http://a.example/2") == "two")
        sleeper.cancel()
        await #expect(throws: LoadError.self) { try await sleeper.value }
        #expect(stage.clock.timerCount == 0)
        #expect(stage.sent.filter { $0.url.string == StoreStage.url }.count == 1)
        await stage.end()
    }

    @Test("A long body is stored in part while it arrives and completed at its end")
    func whileItComes() async throws {
        // More than twice the bytes after which a part is written.
        let half = 1 << 20
        let long = [UInt8](repeating: 7, count: 3 * half / 2)
        let stage = try StoreStage()
        stage.serve(
            StoreStage.url,
            .ok(Bytes(long), chunks: [100_000], fields: StoreStage.fields([Self.tag])).stalled(
                "half", after: half))
        let load = Task { try await stage.pipeline.data(for: ImageRequest(StoreStage.url)) }
        try await eventually("a stored part") { !stage.store.entries.isEmpty }
        let kept = try #require(stage.store.entries.first?.response)
        #expect(!kept.isComplete)
        #expect(kept.bodyRange.upperBound >= Int64(half / 2))
        stage.transport.release("half")
        #expect(try await load.value.count == long.count)
        await stage.settled()
        #expect(stage.store.entries.map(\.response.isComplete) == [true])
        await stage.end()
    }
}
