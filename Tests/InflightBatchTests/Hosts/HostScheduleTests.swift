import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Turns of hosts", .timeLimit(.minutes(5)))
struct HostScheduleTests {
    /// What can be done now, as text, and the time to ask again. Every row that starts passes robots.txt.
    private static func steps(_ schedule: inout HostSchedule, at now: Duration) -> (texts: [String], Duration?) {
        var texts: [String] = []
        while true {
            switch schedule.next(at: now) {
            case .start(let row): texts += text(row.number, schedule.robotsStep(row.number, at: now))
            case .giveUp(let rows, let host, _): texts.append("give up \(rows) of \(host)")
            case .wait(let time): return (texts, time)
            }
        }
    }

    private static func text(_ row: Int, _ step: HostSchedule.RobotsStep) -> [String] {
        switch step {
        case .fetchImage: ["fetch \(row)"]
        case .fetchRobots(let authority): ["robots \(authority)"]
        case .wait: []
        case .fail(let name, _): ["fail \(row) \(name)"]
        }
    }

    private func place(_ host: String, _ path: String = "/") throws -> RowPlace {
        try RowPlace("http://\(host)\(path)")
    }

    private func robots(_ text: String) -> RobotsRecord.Outcome { .response(status: 200, body: Array(text.utf8)) }

    private func configuration(robots: Bool = false) -> HostSchedule.Configuration {
        var configuration = HostSchedule.Configuration()
        if robots { configuration.robots = RobotsRecord.Configuration(productToken: "inflight") }
        return configuration
    }

    private static let served = HostPacer.Outcome.served(latency: .milliseconds(10))

    @Test(
        "A place has the host, the authority and the path of its URL",
        arguments: [
            ("http://h", "h", "http://h:80", "/"), ("https://H:8443/a?b=c", "h", "https://h:8443", "/a?b=c"),
            ("HTTP://h/\u{e4}", "h", "http://h:80", "/%C3%A4"),
        ])
    func places(_ url: String, host: String, authority: String, path: String) throws {
        let place = try RowPlace(url)
        #expect(place.url == url && place.host == host)
        #expect(place.authority == authority && place.path == path)
    }

    @Test("robots.txt is fetched once for all rows of a host, and disallowed rows end without a request")
    func robots() throws {
        var schedule = HostSchedule(configuration(robots: true))
        schedule.add(0, try place("h", "/a"), at: .zero)
        schedule.add(1, try place("h", "/private"), at: .zero)
        #expect(Self.steps(&schedule, at: .zero).texts == ["robots http://h:80"])
        let file = robots("User-agent: *\nDisallow: /private")
        let steps = schedule.robotsDidFinish(file, authority: "http://h:80", at: .zero)
        #expect(steps.flatMap { Self.text($0.row, $0.step) } == ["fetch 0", "fail 1 robots_disallowed"])
        #expect(schedule.runningCount == 1)
    }

    @Test(
        "A row whose robots.txt cannot be fetched says why, and has the class of the cause",
        arguments: [
            (
                .networkError(
                    LoadError(.cannotConnect, stage: .fetch, message: "No such name.", underlying: HostNotFound())),
                "host_not_found", "every path. No such name."
            ),
            (.networkError(.lost), "connectionLost", "every path. The connection was lost."),
            (
                .response(status: 503, body: []), "robots_unreachable",
                "every path. The server responded with status 503."
            ),
            (
                .networkError(LoadError(.addressNotAllowed, stage: .fetch, message: "Use another address.")),
                "addressNotAllowed", "Use another address."
            ),
        ] as [(RobotsRecord.Outcome, String, String)])
    func robotsObstacle(_ outcome: RobotsRecord.Outcome, failure: String, ending: String) throws {
        var schedule = HostSchedule(configuration(robots: true))
        schedule.add(0, try place("h", "/a"), at: .zero)
        _ = Self.steps(&schedule, at: .zero)
        let steps = schedule.robotsDidFinish(outcome, authority: "http://h:80", at: .zero)
        guard case .fail(let name, let message)? = steps.first?.step else {
            Issue.record("the row did not fail: \(steps)")
            return
        }
        #expect(name == failure)
        #expect(message.hasSuffix(ending))
    }

    @Test("A Crawl-delay applies to the next row of the host")
    func crawlDelay() throws {
        var schedule = HostSchedule(configuration(robots: true))
        schedule.add(0, try place("h"), at: .zero)
        _ = Self.steps(&schedule, at: .zero)
        _ = schedule.robotsDidFinish(robots("User-agent: *\nCrawl-delay: 3"), authority: "http://h:80", at: .zero)
        schedule.rowDidFinish(0, Self.served, at: .seconds(1))
        schedule.add(1, try place("h"), at: .seconds(1))
        let (texts, wakeTime) = Self.steps(&schedule, at: .seconds(1))
        #expect(texts.isEmpty && wakeTime == .seconds(3))
        #expect(Self.steps(&schedule, at: .seconds(3)).texts == ["fetch 1"])
    }

    @Test("Rows of a host beyond its share wait outside of the window, and other hosts go on")
    func spilled() throws {
        var configuration = configuration()
        configuration.queue.hostShare = 1
        configuration.queue.pacer.ceiling = 1
        configuration.queue.pacer.initialLimit = 1
        var schedule = HostSchedule(configuration)
        let (slow, other) = (try place("slow"), try place("other"))
        for row in 0..<3 { schedule.add(row, slow, at: .zero) }
        schedule.add(3, other, at: .zero)
        #expect(Self.steps(&schedule, at: .zero).texts == ["fetch 0", "fetch 3"])
        // Row 1 takes the place of row 0 in the window.
        var asked: [Int] = []
        func refill() -> Bool {
            schedule.refill(at: .zero) { (row) throws(Never) in
                asked.append(row)
                return slow
            }
        }
        #expect(refill() && asked == [1])
        #expect(!refill())
        schedule.rowDidFinish(0, Self.served, at: .zero)
        #expect(Self.steps(&schedule, at: .zero).texts == ["fetch 1"])
        // A row that was read later stays behind row 2.
        schedule.add(4, slow, at: .zero)
        #expect(refill() && asked == [1, 2])
    }

    @Test("A host that cannot serve its rows in time ends them, those outside of the window too")
    func patience() throws {
        var configuration = configuration()
        configuration.queue.hostShare = 1
        configuration.queue.patience = .seconds(60)
        configuration.queue.pacer.ceiling = 1
        configuration.queue.pacer.initialLimit = 1
        var schedule = HostSchedule(configuration)
        let place = try place("h")
        for row in 0..<3 { schedule.add(row, place, at: .zero) }
        #expect(Self.steps(&schedule, at: .zero).texts == ["fetch 0"])
        let hadSpilled = schedule.refill(at: .zero) { _ throws(Never) in place }
        #expect(hadSpilled)
        #expect(Self.steps(&schedule, at: .seconds(1)).1 == .seconds(60))
        #expect(Self.steps(&schedule, at: .seconds(60)).texts == ["give up [1, 2] of h"])
    }

    @Test("The patience of rows that were read far ahead counts when the rows before them have ended")
    func patienceAhead() throws {
        var configuration = configuration()
        configuration.queue.hostShare = 1
        configuration.queue.patience = .seconds(60)
        configuration.queue.pacer.ceiling = 1
        configuration.queue.pacer.initialLimit = 1
        var schedule = HostSchedule(configuration)
        let place = try place("h")
        func refill(at now: Duration) -> Bool { schedule.refill(at: now) { _ throws(Never) in place } }
        schedule.countPatience(ofRowsBefore: 2, at: .zero)
        for row in 0..<5 { schedule.add(row, place, at: .zero) }
        #expect(Self.steps(&schedule, at: .zero).texts == ["fetch 0"])
        #expect(refill(at: .zero))
        #expect(Self.steps(&schedule, at: .seconds(60)).texts == ["give up [1] of h"])
        #expect(refill(at: .seconds(60)))
        #expect(Self.steps(&schedule, at: .seconds(60)) == ([], .seconds(120)))
        schedule.countPatience(ofRowsBefore: 4, at: .seconds(90))
        #expect(Self.steps(&schedule, at: .seconds(120)) == ([], .seconds(150)))
        #expect(Self.steps(&schedule, at: .seconds(150)).texts == ["give up [2, 3] of h"])
        schedule.countPatience(ofRowsBefore: 3, at: .seconds(151))
        #expect(refill(at: .seconds(200)))
        #expect(Self.steps(&schedule, at: .seconds(200)) == ([], .seconds(260)))
    }

    /// Plays a whole run against random hosts, with the shards that its rows fill. Checks that every row ends exactly
    /// once, that the limits hold, and that the run ends.
    @Test("Every row of a random run ends exactly once, within the limits", arguments: 0..<60)
    func randomRuns(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let layout = try #require(ShardLayout(shardSize: Int.random(in: 1...8, using: &random)))
        var configuration = configuration(robots: Bool.random(using: &random))
        configuration.queue.capacity = Int.random(in: 1...12, using: &random)
        configuration.queue.hostShare = Int.random(in: 1...4, using: &random)
        configuration.queue.patience = .seconds(Int.random(in: 5...50, using: &random))
        configuration.maximumRequests = Int.random(in: 1...6, using: &random)
        let limits = ShardBook.Configuration(
            layout: layout, stagingLimit: Int64.random(in: 1...100, using: &random),
            openShardLimit: Int.random(in: 1...5, using: &random))
        let rowCount = Int.random(in: 1...120, using: &random)
        let hosts = Int.random(in: 1...6, using: &random)
        let places = try (0..<rowCount).map { try place("h\($0 * 7 % hosts)", "/\($0)") }
        var schedule = HostSchedule(configuration)
        var shards = ShardBook(limits)
        var (read, now) = (0, Duration.zero)
        var ended = Set<Int>()
        var staged = Set<Int>()
        var discarded = Set<Int>()
        enum Work { case image(Int), robots(String), assembly(Int) }
        /// What ends later, by time.
        var due: [(Duration, Work)] = []
        var runningByHost: [String: Int] = [:]
        var hasEnded = false

        func perform(_ actions: [ShardBook.Action]) {
            for action in actions {
                switch action {
                case .assemble(let shard, _, _):
                    due.append((now + .milliseconds(Int.random(in: 1...3_000, using: &random)), .assembly(shard)))
                case .discard(let shard):
                    #expect(discarded.insert(shard).inserted)
                    staged.subtract(layout.rows(of: shard))
                }
            }
        }

        func end(_ row: Int, _ outcome: RowOutcome<Int64>) throws {
            #expect(ended.insert(row).inserted)
            if case .success = outcome { staged.insert(row) }
            perform(try shards.rowDidEnd(row, outcome))
        }

        func follow(_ row: Int, _ step: HostSchedule.RobotsStep) throws {
            switch step {
            case .fetchImage:
                runningByHost[places[row].host, default: 0] += 1
                #expect(runningByHost[places[row].host, default: 0] <= configuration.queue.pacer.ceiling)
                due.append((now + .milliseconds(Int.random(in: 1...8_000, using: &random)), .image(row)))
            case .fetchRobots(let authority):
                due.append((now + .milliseconds(Int.random(in: 1...3_000, using: &random)), .robots(authority)))
            case .wait: break
            case .fail(let name, let message): try end(row, .failure(class: name, message: message))
            }
        }

        func finish(_ work: Work) throws {
            switch work {
            case .image(let row):
                runningByHost[places[row].host, default: 0] -= 1
                let paces = [Self.served, .failed, .throttled(retryAfter: .seconds(2)), .throttled(retryAfter: nil)]
                schedule.rowDidFinish(row, paces.randomElement(using: &random)!, at: now)
                let isSuccess = Int.random(in: 0..<4, using: &random) > 0
                try end(
                    row,
                    isSuccess
                        ? .success(10) : .failure(class: "http_404", message: ""))
            case .robots(let authority):
                let outcomes: [RobotsRecord.Outcome] = [
                    .response(status: 404, body: []), .networkError(.lost),
                    robots("User-agent: *\nDisallow: /1\nCrawl-delay: 1"),
                ]
                let outcome = outcomes.randomElement(using: &random)!
                for (row, _, step) in schedule.robotsDidFinish(outcome, authority: authority, at: now) {
                    try follow(row, step)
                }
            case .assembly(let shard): perform(try shards.shardDidAssemble(shard))
            }
        }

        func startAll() throws -> Duration? {
            while true {
                switch schedule.next(at: now) {
                case .start(let row):
                    if shards.admits(row.number) {
                        try shards.rowDidStart(row.number)
                        try follow(row.number, schedule.robotsStep(row.number, at: now))
                    } else {
                        shards.park(row.number, since: row.since)
                        schedule.rowDidFinish(row.number, .notSent, at: now)
                    }
                case .giveUp(let rows, _, _):
                    for row in rows { try end(row, .failure(class: "host_patience", message: "")) }
                case .wait(let time):
                    let hadSpilled = schedule.refill(at: now) { (row) throws(Never) in places[row] }
                    let admitted = shards.unpark(room: schedule.room)
                    for (row, since) in admitted { schedule.addAgain(row, places[row], since: since, at: now) }
                    if !hadSpilled, admitted.isEmpty { return time }
                }
            }
        }

        for _ in 0..<20_000 where !shards.isFinished {
            if seed % 2 == 0 {
                schedule.countPatience(
                    ofRowsBefore: layout.rows(of: shards.finishedShards.firstMissing + 2).lowerBound, at: now)
            }
            while schedule.wantsRows, read < rowCount, shards.wantsRow(read) {
                let row = read
                read += 1
                if row > 0, Int.random(in: 0..<6, using: &random) == 0 {
                    try end(row, .duplicate(of: Int.random(in: 0..<row, using: &random)))
                } else {
                    schedule.add(row, places[row], at: now)
                }
            }
            if read == rowCount, !hasEnded {
                hasEnded = true
                perform(try shards.inputDidEnd(rowCount: rowCount))
            }
            let wakeTime = try startAll()
            #expect(schedule.runningCount <= configuration.maximumRequests)
            if schedule.wantsRows, read < rowCount, shards.wantsRow(read) { continue }
            guard let time = (due.map(\.0) + [wakeTime].compactMap { $0 }).min() else {
                if shards.isFinished { continue }
                Issue.record("The run stands still after \(read) of \(rowCount) rows, \(ended.count) ended.")
                return
            }
            now = max(now, time)
            let ending = due.filter { $0.0 <= now }
            due.removeAll { $0.0 <= now }
            for (_, work) in ending { try finish(work) }
        }
        #expect(shards.isFinished)
        #expect(ended.count == rowCount && staged.isEmpty && due.isEmpty)
    }
}
