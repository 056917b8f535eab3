import InflightCore
import Testing

@testable import InflightBatch

@Suite("robots.txt over time", .timeLimit(.minutes(2)))
struct RobotsRecordTests {
    private static let hour = 3_600

    private func record() -> RobotsRecord { RobotsRecord(.init(productToken: "FooBot")) }

    private func response(_ status: Int, _ text: String = "") -> RobotsRecord.Outcome {
        .response(status: status, body: Array(text.utf8))
    }

    private let rules = "user-agent: FooBot\ndisallow: /x\ncrawl-delay: 90"

    @Test("Nothing may be fetched before the file")
    func first() {
        #expect(record().decision(for: "/", at: .zero) == .needsFetch)
    }

    @Test("A file is used for a day")
    func lifetime() {
        var record = record()
        record.fetchDidFinish(response(200, rules), at: .seconds(100))
        #expect(record.decision(for: "/x", at: .seconds(100)) == .disallowed)
        #expect(record.decision(for: "/y", at: .seconds(100 + 86_399)) == .allowed)
        #expect(record.decision(for: "/y", at: .seconds(100 + 86_400)) == .needsFetch)
        #expect(record.decision(for: "/y", at: .seconds(99)) == .needsFetch)
        #expect(record.crawlDelay == .seconds(60))
        record.fetchDidFinish(response(304), at: .seconds(90_000))
        #expect(record.decision(for: "/x", at: .seconds(90_001)) == .disallowed)
        record.fetchDidFinish(response(404), at: .seconds(200_000))
        #expect(record.decision(for: "/x", at: .seconds(200_001)) == .allowed)
    }

    @Test(
        "A missing file and too many redirects allow everything",
        arguments: [301, 308, 400, 401, 403, 404, 410, 499])
    func unavailable(status: Int) {
        var record = record()
        record.fetchDidFinish(response(status, rules), at: .zero)
        #expect(record.decision(for: "/x", at: .zero) == .allowed)
        #expect(record.decision(for: "/x", at: .seconds(86_400)) == .needsFetch)
    }

    @Test(
        "A server error, 429 and a nonsensical status disallow everything",
        arguments: [500, 503, 599, 429, 600, 100, -1])
    func unreachable(status: Int) {
        var record = record()
        record.fetchDidFinish(response(status, "user-agent: *\nallow: /"), at: .zero)
        #expect(record.decision(for: "/y", at: .zero) == .unreachable(retryAt: .seconds(5)))
        #expect(record.decision(for: "/y", at: .seconds(5)) == .needsFetch)
    }

    @Test("Retries back off up to an hour, and a success ends that")
    func backoff() {
        var record = record()
        var now = Duration.zero
        var waits: [Duration] = []
        for _ in 0..<12 {
            record.fetchDidFinish(.networkError(.lost), at: now)
            guard case .unreachable(let retryAt) = record.decision(for: "/", at: now) else { break }
            waits.append(retryAt - now)
            now = retryAt
        }
        #expect(waits.map(\.components.seconds) == [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600])
        record.fetchDidFinish(response(200), at: now)
        record.fetchDidFinish(.networkError(.lost), at: now + .seconds(86_400))
        record.fetchDidFinish(response(200), at: now + .seconds(86_500))
        record.fetchDidFinish(.networkError(.lost), at: now + .seconds(200_000))
        #expect(record.decision(for: "/", at: now + .seconds(200_004)) == .allowed)
        #expect(record.decision(for: "/", at: now + .seconds(200_005)) == .needsFetch)
    }

    @Test("A stale file is used while the host is unreachable")
    func stale() {
        var record = record()
        record.fetchDidFinish(response(200, rules), at: .zero)
        record.fetchDidFinish(response(503), at: .seconds(100_000))
        #expect(record.decision(for: "/x", at: .seconds(100_001)) == .disallowed)
        #expect(record.decision(for: "/y", at: .seconds(100_001)) == .allowed)
        #expect(record.decision(for: "/y", at: .seconds(99_999)) == .needsFetch)
    }

    @Test("A host that was unreachable for 30 days counts as one without a file")
    func abandoned() {
        var record = record()
        let month = 30 * 86_400
        record.fetchDidFinish(.networkError(.lost), at: .seconds(10))
        record.fetchDidFinish(.networkError(.lost), at: .seconds(month + 9))
        #expect(record.decision(for: "/x", at: .seconds(month + 9)) == .unreachable(retryAt: .seconds(month + 19)))
        #expect(record.decision(for: "/x", at: .seconds(month + 10)) == .allowed)
        #expect(record.decision(for: "/x", at: .seconds(month + 19)) == .needsFetch)
    }
}

extension LoadError {
    /// The error of a fetch without a response.
    static let lost = LoadError(.connectionLost, stage: .fetch, message: "The connection was lost.")
}
