import InflightCore
import Testing

@testable import InflightBatch

@Suite("robots.txt of all hosts", .timeLimit(.minutes(5)))
struct RobotsTableTests {
    private var table = RobotsTable(RobotsRecord.Configuration(productToken: "inflight"))

    private func file(_ text: String) -> RobotsRecord.Outcome { .response(status: 200, body: Array(text.utf8)) }

    private typealias Steps = [RobotsTable.Step]

    @Test("A file is fetched once for all rows that wait for it")
    func once() {
        var table = table
        #expect(table.step(row: 1, authority: "a", path: "/x", at: .zero) == .fetch)
        #expect(table.step(row: 2, authority: "a", path: "/private", at: .zero) == .wait)
        #expect(table.step(row: 3, authority: "b", path: "/", at: .zero) == .fetch)
        let steps = table.fetchDidFinish(
            file("User-agent: *\nDisallow: /private\nCrawl-delay: 2"), authority: "a", at: .seconds(1))
        #expect(steps.map(\.row) == [1, 2])
        #expect(steps.map(\.step) == [.proceed, .disallowed])
        #expect(table.crawlDelay(authority: "a") == .seconds(2))
        #expect(table.step(row: 4, authority: "a", path: "/y", at: .seconds(1)) == .proceed)
        #expect(table.step(row: 5, authority: "a", path: "/private/z", at: .seconds(1)) == .disallowed)
        #expect(table.step(row: 6, authority: "b", path: "/", at: .seconds(1)) == .wait)
    }

    @Test("An unreachable file disallows all rows until the next fetch")
    func unreachable() {
        var table = table
        #expect(table.step(row: 1, authority: "a", path: "/", at: .zero) == .fetch)
        #expect(table.step(row: 2, authority: "a", path: "/", at: .zero) == .wait)
        #expect(
            table.fetchDidFinish(.networkError(.lost), authority: "a", at: .zero).map(\.step) == [
                .unreachable, .unreachable,
            ])
        #expect(table.step(row: 3, authority: "a", path: "/", at: .seconds(4)) == .unreachable)
        #expect(table.step(row: 4, authority: "a", path: "/", at: .seconds(5)) == .fetch)
        #expect(table.fetchDidFinish(file(""), authority: "a", at: .seconds(5)).map(\.step) == [.proceed])
    }

    @Test("A file without a lifetime serves the rows that waited for it")
    func noLifetime() {
        var configuration = RobotsRecord.Configuration(productToken: "inflight")
        configuration.lifetime = .zero
        var table = RobotsTable(configuration)
        #expect(table.step(row: 1, authority: "a", path: "/", at: .zero) == .fetch)
        #expect(table.fetchDidFinish(file(""), authority: "a", at: .zero).map(\.step) == [.proceed])
        #expect(table.step(row: 2, authority: "a", path: "/", at: .zero) == .fetch)
    }

    @Test("Memory is bounded, and a file that rows wait for is never forgotten")
    func bounded() {
        var table = table
        #expect(table.step(row: 0, authority: "waiting", path: "/", at: .zero) == .fetch)
        for row in 1...20_000 {
            let authority = "http://\(row)"
            #expect(table.step(row: row, authority: authority, path: "/", at: .zero) == .fetch)
            #expect(table.fetchDidFinish(file(""), authority: authority, at: .zero).count == 1)
        }
        #expect(table.count <= RobotsTable.recordLimit)
        #expect(table.step(row: 1, authority: "waiting", path: "/", at: .zero) == .wait)
        // The file used last is remembered, the one used first is not.
        #expect(table.step(row: 1, authority: "http://20000", path: "/", at: .zero) == .proceed)
        #expect(table.step(row: 1, authority: "http://1", path: "/", at: .zero) == .fetch)
    }

    @Test("The end of a fetch that was not requested changes nothing")
    func stray() {
        var table = table
        #expect(table.fetchDidFinish(.networkError(.lost), authority: "a", at: .zero).isEmpty)
        #expect(table.count == 0)
    }
}
