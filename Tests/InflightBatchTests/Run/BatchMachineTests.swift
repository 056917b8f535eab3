import InflightCore
import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("A run's decisions", .timeLimit(.minutes(5)))
struct BatchMachineTests {
    private typealias Machine = BatchMachine<Int>

    /// Actions as text, for comparison.
    private static func texts(_ actions: [Machine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .fetch(let row): "fetch \(row)"
            case .fetchRobots(let authority): "robots \(authority)"
            case .load(let row): "load \(row)"
            case .record(let row, .failure(let name, _)): "record \(row) \(name)"
            case .record(let row, .duplicate(let original)): "record \(row) = \(original)"
            case .record(let row, .success): "record \(row)"
            case .assemble(let shard, let rows, _): "assemble \(shard) \(rows)"
            case .discard(let shard): "discard \(shard)"
            }
        }
    }

    private func configuration(shardSize: Int = 2, robots: Bool = false) throws -> Machine.Configuration {
        let layout = try #require(ShardLayout(shardSize: shardSize))
        return Machine.Configuration(
            assembler: .init(layout: layout, stagingLimit: 1_000),
            robots: robots ? RobotsRecord.Configuration(productToken: "inflight") : nil)
    }

    private func place(_ host: String, _ path: String = "/") -> Machine.Place {
        Machine.Place(host: host, authority: "http://\(host)", path: path)
    }

    private func sample(_ row: Int, size: Int64 = 10) -> RowOutcome<Int> {
        .success(StagedSample(imageSize: size, token: row))
    }

    private static let served = HostPacer.Outcome.served(latency: .milliseconds(10))

    @Test("Rows are fetched by host, and their shard is assembled and discarded")
    func oneShard() throws {
        var machine = Machine(try configuration())
        for row in 0..<2 { _ = try machine.rowWasRead(row, place("h"), at: .zero) }
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["fetch 0", "fetch 1"])
        #expect(Self.texts(try machine.inputDidEnd()).isEmpty)
        #expect(!machine.wantsRow && machine.runningCount == 2)
        #expect(Self.texts(try machine.rowDidFinish(1, sample(1), pace: Self.served, at: .zero)).isEmpty)
        #expect(
            Self.texts(try machine.rowDidFinish(0, sample(0), pace: Self.served, at: .zero)) == ["assemble 0 0..<2"])
        #expect(!machine.isFinished)
        #expect(Self.texts(try machine.shardDidAssemble(0)) == ["discard 0"])
        #expect(machine.isFinished)
    }

    @Test("robots.txt is fetched once for all rows of a host, and disallowed rows end without a request")
    func robots() throws {
        var machine = Machine(try configuration(robots: true))
        _ = try machine.rowWasRead(0, place("h", "/a"), at: .zero)
        _ = try machine.rowWasRead(1, place("h", "/private"), at: .zero)
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["robots http://h"])
        let file = RobotsRecord.Outcome.response(status: 200, body: Array("User-agent: *\nDisallow: /private".utf8))
        #expect(
            Self.texts(try machine.robotsDidFinish(file, authority: "http://h", at: .zero))
                == ["fetch 0", "record 1 robots_disallowed"])
        #expect(
            Self.texts(try machine.rowDidFinish(0, sample(0), pace: Self.served, at: .zero)) == ["assemble 0 0..<2"])
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
        var machine = Machine(try configuration(robots: true))
        _ = try machine.rowWasRead(0, place("h", "/a"), at: .zero)
        _ = try machine.next(at: .zero)
        let actions = try machine.robotsDidFinish(outcome, authority: "http://h", at: .zero)
        guard case .record(0, .failure(let name, let message))? = actions.first else {
            Issue.record("the row was not recorded: \(actions)")
            return
        }
        #expect(name == failure)
        #expect(message.hasSuffix(ending))
    }

    @Test("A Crawl-delay applies to the next row of the host")
    func crawlDelay() throws {
        var machine = Machine(try configuration(robots: true))
        _ = try machine.rowWasRead(0, place("h"), at: .zero)
        _ = try machine.next(at: .zero)
        let file = RobotsRecord.Outcome.response(status: 200, body: Array("User-agent: *\nCrawl-delay: 3".utf8))
        _ = try machine.robotsDidFinish(file, authority: "http://h", at: .zero)
        _ = try machine.rowDidFinish(0, sample(0), pace: Self.served, at: .seconds(1))
        _ = try machine.rowWasRead(1, place("h"), at: .seconds(1))
        let (actions, wakeTime) = try machine.next(at: .seconds(1))
        #expect(actions.isEmpty && wakeTime == .seconds(3))
        #expect(Self.texts(try machine.next(at: .seconds(3)).actions) == ["fetch 1"])
    }

    @Test("Rows of a host beyond its share wait outside of the window, and other hosts go on")
    func spilled() throws {
        var configuration = try configuration(shardSize: 10)
        configuration.queue.hostShare = 1
        configuration.queue.pacer.ceiling = 1
        configuration.queue.pacer.initialLimit = 1
        var machine = Machine(configuration)
        for row in 0..<3 { _ = try machine.rowWasRead(row, place("slow"), at: .zero) }
        _ = try machine.rowWasRead(3, place("other"), at: .zero)
        // Row 1 takes the place of row 0 in the window.
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["fetch 0", "fetch 3", "load 1"])
        machine.rowWasLoaded(1, place("slow"), at: .zero)
        #expect(Self.texts(try machine.next(at: .zero).actions).isEmpty)
        _ = try machine.rowDidFinish(0, sample(0), pace: Self.served, at: .zero)
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["fetch 1", "load 2"])
    }

    @Test("A host that cannot serve its rows in time ends them, those outside of the window too")
    func patience() throws {
        var configuration = try configuration(shardSize: 3)
        configuration.queue.hostShare = 1
        configuration.queue.patience = .seconds(60)
        configuration.queue.pacer.ceiling = 1
        configuration.queue.pacer.initialLimit = 1
        var machine = Machine(configuration)
        for row in 0..<3 { _ = try machine.rowWasRead(row, place("h"), at: .zero) }
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["fetch 0", "load 1"])
        machine.rowWasLoaded(1, place("h"), at: .zero)
        #expect(try machine.next(at: .seconds(1)).wakeTime == .seconds(60))
        #expect(
            Self.texts(try machine.next(at: .seconds(60)).actions)
                == ["record 1 host_patience", "record 2 host_patience"])
        #expect(
            Self.texts(try machine.rowDidFinish(0, sample(0), pace: Self.served, at: .seconds(61)))
                == ["assemble 0 0..<3"])
    }

    @Test("While staging is full, only rows of the oldest open shard are read and started")
    func full() throws {
        var configuration = try configuration()
        configuration.assembler.stagingLimit = 10
        var machine = Machine(configuration)
        _ = try machine.rowWasRead(0, place("slow"), at: .zero)
        for row in 1...2 { _ = try machine.rowWasRead(row, place("h\(row)"), at: .zero) }
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["fetch 0", "fetch 1", "fetch 2"])
        #expect(machine.wantsRow)
        _ = try machine.rowDidFinish(2, sample(2), pace: Self.served, at: .zero)
        #expect(!machine.wantsRow && machine.fullCount == 1)
        // It was read before the folder became full.
        _ = try machine.rowWasRead(3, place("h3"), at: .zero)
        #expect(Self.texts(try machine.next(at: .zero).actions).isEmpty)
        _ = try machine.rowDidFinish(1, sample(1), pace: Self.served, at: .zero)
        _ = try machine.rowDidFinish(0, sample(0), pace: Self.served, at: .zero)
        #expect(Self.texts(try machine.next(at: .zero).actions).isEmpty)
        #expect(Self.texts(try machine.shardDidAssemble(0)) == ["discard 0"])
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["load 3"])
        machine.rowWasLoaded(3, place("h3"), at: .zero)
        #expect(Self.texts(try machine.next(at: .zero).actions) == ["fetch 3"])
    }

    @Test("Rows of finished shards, known outcomes and duplicates need no request")
    func resumed() throws {
        var finished = ShardSet()
        finished.insert(0)
        var machine = Machine(try configuration(), finishedShards: finished)
        for row in 0..<2 { #expect(try machine.rowWasRead(row, place("h"), at: .zero).isEmpty) }
        #expect(try machine.rowWasRead(2, outcome: sample(2), isRecorded: true).isEmpty)
        #expect(
            Self.texts(try machine.rowWasRead(3, outcome: .duplicate(of: 0)))
                == ["record 3 = 0", "assemble 1 2..<4"])
        #expect(Self.texts(try machine.next(at: .zero).actions).isEmpty)
    }

    @Test("A stopped run starts nothing more")
    func stopped() throws {
        var machine = Machine(try configuration(robots: true))
        for row in 0..<2 { _ = try machine.rowWasRead(row, place("h\(row)"), at: .zero) }
        _ = try machine.next(at: .zero)
        machine.stop()
        #expect(!machine.wantsRow)
        #expect(try machine.next(at: .zero).actions.isEmpty)
        let file = RobotsRecord.Outcome.response(status: 404, body: [])
        #expect(try machine.robotsDidFinish(file, authority: "http://h0", at: .zero).isEmpty)
    }

    @Test("Events that contradict earlier ones are errors")
    func contradictions() throws {
        var machine = Machine(try configuration())
        #expect(throws: Machine.Failure.rowOutOfRange(1)) { try machine.rowWasRead(1, place("h"), at: .zero) }
        #expect(throws: Machine.Failure.rowOutOfRange(0)) {
            try machine.rowDidFinish(0, sample(0), pace: .failed, at: .zero)
        }
        #expect(throws: Machine.Failure.notAssembling(0)) { try machine.shardDidAssemble(0) }
    }

    /// Plays a whole run against random hosts, and checks that every row ends exactly once, that the limits hold, and
    /// that the run ends.
    @Test("Every row of a random run ends exactly once, within the limits", arguments: 0..<60)
    func randomRuns(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var configuration = try configuration(
            shardSize: Int.random(in: 1...8, using: &random), robots: Bool.random(using: &random))
        configuration.queue.capacity = Int.random(in: 1...12, using: &random)
        configuration.queue.hostShare = Int.random(in: 1...4, using: &random)
        configuration.queue.patience = .seconds(Int.random(in: 5...50, using: &random))
        configuration.assembler.stagingLimit = Int64.random(in: 1...100, using: &random)
        configuration.assembler.openShardLimit = Int.random(in: 1...5, using: &random)
        configuration.maximumRequests = Int.random(in: 1...6, using: &random)
        let rowCount = Int.random(in: 1...120, using: &random)
        let hosts = Int.random(in: 1...6, using: &random)
        let places = (0..<rowCount).map { place("h\($0 * 7 % hosts)", "/\($0)") }
        var machine = Machine(configuration)
        var (read, now) = (0, Duration.zero)
        var ended = Set<Int>()
        var staged = Set<Int>()
        var discarded = Set<Int>()
        /// The events that come later, by time.
        var due: [(Duration, Machine.Action)] = []
        var pending: [Machine.Action] = []
        var runningByHost: [String: Int] = [:]
        var hasEnded = false

        func discard(_ shard: Int) {
            #expect(discarded.insert(shard).inserted)
            staged.subtract(configuration.assembler.layout.rows(of: shard))
        }

        func finish(_ action: Machine.Action) throws {
            switch action {
            case .fetch(let row):
                runningByHost[places[row].host, default: 0] -= 1
                let isSuccess = Int.random(in: 0..<4, using: &random) > 0
                let outcome = isSuccess ? sample(row) : RowOutcome<Int>.failure(class: "http_404", message: "")
                #expect(ended.insert(row).inserted)
                if isSuccess { staged.insert(row) }
                let paces = [Self.served, .failed, .throttled(retryAfter: .seconds(2)), .throttled(retryAfter: nil)]
                pending += try machine.rowDidFinish(row, outcome, pace: paces.randomElement(using: &random)!, at: now)
            case .fetchRobots(let authority):
                let outcomes: [RobotsRecord.Outcome] = [
                    .response(status: 404, body: []), .networkError(.lost),
                    .response(status: 200, body: Array("User-agent: *\nDisallow: /1\nCrawl-delay: 1".utf8)),
                ]
                pending += try machine.robotsDidFinish(
                    outcomes.randomElement(using: &random)!, authority: authority, at: now)
            case .assemble(let shard, _, _): pending += try machine.shardDidAssemble(shard)
            default: break
            }
        }

        for _ in 0..<20_000 where !machine.isFinished {
            while machine.wantsRow, read < rowCount {
                let row = read
                read += 1
                if row > 0, Int.random(in: 0..<6, using: &random) == 0 {
                    ended.insert(row)
                    pending += try machine.rowWasRead(
                        row, outcome: .duplicate(of: Int.random(in: 0..<row, using: &random)), isRecorded: true)
                } else {
                    pending += try machine.rowWasRead(row, places[row], at: now)
                }
            }
            if read == rowCount, !hasEnded {
                hasEnded = true
                pending += try machine.inputDidEnd()
            }
            let (actions, wakeTime) = try machine.next(at: now)
            pending += actions
            var hasLoaded = false
            while !pending.isEmpty {
                let action = pending.removeFirst()
                switch action {
                case .fetch(let row):
                    runningByHost[places[row].host, default: 0] += 1
                    #expect(runningByHost[places[row].host, default: 0] <= configuration.queue.pacer.ceiling)
                    due.append((now + .milliseconds(Int.random(in: 1...8_000, using: &random)), action))
                case .fetchRobots, .assemble:
                    due.append((now + .milliseconds(Int.random(in: 1...3_000, using: &random)), action))
                case .load(let row):
                    machine.rowWasLoaded(row, places[row], at: now)
                    hasLoaded = true
                case .record(let row, _): #expect(ended.insert(row).inserted)
                case .discard(let shard): discard(shard)
                }
            }
            #expect(machine.runningCount <= configuration.maximumRequests)
            if hasLoaded || machine.wantsRow && read < rowCount { continue }
            let times = due.map(\.0) + [wakeTime].compactMap { $0 }
            guard let time = times.min() else {
                if machine.isFinished || !pending.isEmpty { continue }
                Issue.record("The run stands still after \(read) of \(rowCount) rows, \(ended.count) ended.")
                return
            }
            now = max(now, time)
            for (time, action) in due where time <= now { try finish(action) }
            due.removeAll { $0.0 <= now }
        }
        for case .discard(let shard) in pending { discard(shard) }
        #expect(machine.isFinished)
        #expect(ended.count == rowCount && staged.isEmpty && due.isEmpty)
    }
}
