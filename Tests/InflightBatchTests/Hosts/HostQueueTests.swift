import InflightTestSupport
import Testing

@testable import InflightBatch

@Suite("Host queue", .timeLimit(.minutes(5)))
struct HostQueueTests {
    private func queue(
        limit: Int = 2, delay: Duration = .zero, _ change: (inout HostQueue.Configuration) -> Void = { _ in }
    ) -> HostQueue {
        var configuration = HostQueue.Configuration()
        configuration.pacer.ceiling = limit
        configuration.pacer.initialLimit = limit
        configuration.pacer.minimumDelay = delay
        change(&configuration)
        return HostQueue(configuration)
    }

    /// Takes all steps up to the next wait, as text such as `start 3 a`.
    private func steps(_ queue: inout HostQueue, at now: Duration, hasSlot: Bool = true) -> [String] {
        var steps: [String] = []
        while true {
            switch queue.next(at: now, hasSlot: hasSlot) {
            case .start(let row): steps.append("start \(row.number) \(row.place.host)")
            case .giveUp(let row): steps.append("giveUp \(row.number) \(row.place.host)")
            case .wait(let until):
                steps.append("wait \(until.map { "\($0.components.seconds)" } ?? "-")")
                return steps
            }
        }
    }

    @Test("Hosts take turns, and no host exceeds its limit")
    func turns() {
        var queue = queue()
        for (row, host) in ["a", "a", "a", "b", "b", "c"].enumerated() {
            #expect(queue.add(row, host: host, at: .zero) == .accepted)
        }
        #expect(
            steps(&queue, at: .zero)
                == ["start 0 a", "start 3 b", "start 5 c", "start 1 a", "start 4 b", "wait 600"])
        #expect(queue.running == 5 && queue.waiting == 1)
        queue.requestDidFinish(host: "a", .failed, startedAt: .zero, at: .seconds(1))
        #expect(steps(&queue, at: .seconds(1)) == ["start 2 a", "wait -"])
    }

    @Test("A host whose delay passed goes before hosts that started later")
    func delays() {
        var queue = queue(delay: .seconds(10))
        for (row, host) in ["a", "a", "b", "b"].enumerated() { _ = queue.add(row, host: host, at: .zero) }
        #expect(steps(&queue, at: .seconds(1)) == ["start 0 a", "start 2 b", "wait 11"])
        #expect(steps(&queue, at: .seconds(10)) == ["wait 11"])
        #expect(steps(&queue, at: .seconds(11)) == ["start 1 a", "start 3 b", "wait -"])
    }

    @Test("A paused host does not delay others")
    func pause() {
        var queue = queue(limit: 1)
        for (row, host) in ["a", "a", "b", "b"].enumerated() { _ = queue.add(row, host: host, at: .zero) }
        #expect(steps(&queue, at: .zero) == ["start 0 a", "start 2 b", "wait 600"])
        queue.requestDidFinish(host: "a", .throttled(retryAfter: .seconds(50)), startedAt: .zero, at: .seconds(1))
        queue.requestDidFinish(host: "b", .failed, startedAt: .zero, at: .seconds(1))
        #expect(steps(&queue, at: .seconds(1)) == ["start 3 b", "wait 51"])
        #expect(steps(&queue, at: .seconds(51)) == ["start 1 a", "wait -"])
    }

    @Test("A row is given up when its host could not serve it in time")
    func patience() {
        var queue = queue(limit: 1) { $0.patience = .seconds(100) }
        for row in 0..<3 { _ = queue.add(row, host: "a", at: .seconds(Int64(row))) }
        #expect(steps(&queue, at: .seconds(3)) == ["start 0 a", "wait 101"])
        #expect(steps(&queue, at: .seconds(101), hasSlot: false) == ["giveUp 1 a", "wait 102"])
        _ = queue.add(3, host: "a", at: .seconds(101), since: .seconds(50))
        #expect(steps(&queue, at: .seconds(102)) == ["giveUp 2 a", "wait 150"])
        #expect(steps(&queue, at: .seconds(150)) == ["giveUp 3 a", "wait -"])
    }

    @Test("A row that waits only for the caller is not given up")
    func waitingForCaller() {
        var queue = queue(limit: 1) { $0.patience = .seconds(100) }
        for row in 0..<2 { _ = queue.add(row, host: "a", at: .zero) }
        #expect(steps(&queue, at: .seconds(1_000), hasSlot: false) == ["wait -"])
        #expect(steps(&queue, at: .seconds(1_000)) == ["start 0 a", "giveUp 1 a", "wait -"])
    }

    @Test("One host occupies at most its share of the window, and the window is bounded")
    func share() {
        var queue = queue {
            $0.capacity = 5
            $0.hostShare = 3
        }
        #expect((0..<4).map { queue.add($0, host: "a", at: .zero) } == [.accepted, .accepted, .accepted, .deferred])
        #expect(queue.room(for: "a") == 0 && queue.room(for: "b") == 2 && queue.wantsRows)
        #expect((0..<3).map { queue.add($0, host: "b", at: .zero) } == [.accepted, .accepted, .full])
        #expect(!queue.wantsRows && queue.room(for: "c") == 0)
        guard case .start(let first) = queue.next(at: .zero), first.number == 0 else { return #expect(Bool(false)) }
        #expect(queue.wantsRows && queue.room(for: "a") == 1)
        #expect(queue.add(9, host: "a", at: .zero) == .accepted)
    }

    @Test("An idle host is forgotten, but not its delay, and no more learned paces are kept than configured")
    func forgetting() {
        var queue = queue(limit: 4) { $0.idleHosts = 2 }
        for (index, outcome) in [HostPacer.Outcome.failed, .throttled(retryAfter: .seconds(100))].enumerated() {
            for host in 0..<5 {
                let now = Duration.seconds(Int64(index * 5 + host))
                _ = queue.add(host, host: "h\(host)", at: now)
                #expect(steps(&queue, at: now).first == "start \(host) h\(host)")
                queue.requestDidFinish(host: "h\(host)", outcome, startedAt: now, at: now)
            }
            // Paused hosts are remembered, however many they are.
            #expect(queue.hostCount == (index == 0 ? 0 : 5))
        }
        #expect(queue.pacer(of: "h0")?.limit == 2)
        _ = queue.add(7, host: "x", at: .seconds(200))
        #expect(steps(&queue, at: .seconds(200)) == ["start 7 x", "wait -"])
        queue.requestDidFinish(host: "x", .throttled(retryAfter: nil), startedAt: .seconds(200), at: .seconds(201))
        #expect(queue.hostCount == 2)
        queue.requestDidFinish(host: "unknown", .failed, startedAt: .zero, at: .seconds(201))
        #expect(queue.running == 0)
    }

    @Test("A Crawl-delay applies at once to rows that wait")
    func crawlDelay() {
        var queue = queue(limit: 4)
        for row in 0..<2 { _ = queue.add(row, host: "a", at: .zero) }
        guard case .start(let first) = queue.next(at: .seconds(1)), first.number == 0 else {
            return #expect(Bool(false))
        }
        queue.setCrawlDelay(.seconds(9), host: "a", at: .seconds(2))
        #expect(steps(&queue, at: .seconds(2)) == ["wait 10"])
        queue.requestDidFinish(host: "a", .notSent, startedAt: .seconds(1), at: .seconds(3))
        #expect(steps(&queue, at: .seconds(3)) == ["start 1 a", "wait -"])
    }

    @Test("Random operations agree with a slow model", arguments: 0..<60)
    func model(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var configuration = HostQueue.Configuration()
        configuration.capacity = .random(in: 1...40, using: &random)
        configuration.hostShare = .random(in: 1...15, using: &random)
        configuration.patience = .seconds(.random(in: 1...60, using: &random))
        configuration.pacer.ceiling = .random(in: 1...4, using: &random)
        configuration.pacer.initialLimit = configuration.pacer.ceiling
        configuration.pacer.minimumDelay = .seconds(.random(in: 0...3, using: &random))
        configuration.pacer.window = 3
        let hosts = (0..<Int.random(in: 1...12, using: &random)).map { "h\($0)" }
        var queue = HostQueue(configuration)
        var model = SlowModel(configuration: configuration)
        var now = Duration.zero
        var runs: [(host: String, start: Duration)] = []
        for row in 0..<3_000 {
            let host = hosts[Int.random(in: 0..<hosts.count, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0: now += .seconds(.random(in: 0...8, using: &random))
            case 1...4:
                let row = HostQueue.Row(row, host: host, since: now)
                #expect(queue.add(row, at: now) == model.add(row, at: now))
            case 5...7:
                let hasSlot = Bool.random(using: &random)
                let step = model.next(at: now, hasSlot: hasSlot)
                #expect("\(queue.next(at: now, hasSlot: hasSlot))" == "\(step)")
                if case .start(let row) = step { runs.append((row.place.host, now)) }
            case 8 where !runs.isEmpty:
                let run = runs.remove(at: Int.random(in: 0..<runs.count, using: &random))
                let pause = Bool.random(using: &random) ? Duration.seconds(.random(in: 0...20, using: &random)) : nil
                let outcomes: [HostPacer.Outcome] = [
                    .failed, .served(latency: .milliseconds(10)), .notSent, .throttled(retryAfter: pause),
                ]
                let outcome = outcomes[Int.random(in: 0..<4, using: &random)]
                queue.requestDidFinish(host: run.host, outcome, startedAt: run.start, at: now)
                model.pacers[run.host]?.requestDidFinish(outcome, startedAt: run.start, at: now)
                model.forget(run.host, at: now)
            case 9 where model.rows.contains { $0.host == host }:
                let delay = Duration.seconds(.random(in: 0...5, using: &random))
                queue.setCrawlDelay(delay, host: host, at: now)
                model.pacers[host]?.setCrawlDelay(delay)
            default: break
            }
            #expect(queue.waiting == model.rows.count && queue.running == runs.count)
            #expect(queue.room(for: host) == model.room(for: host))
        }
    }
}

extension HostQueue.Row {
    fileprivate init(_ number: Int, host: String, since: Duration) {
        guard let place = try? RowPlace("http://\(host)/") else { preconditionFailure("a host's name is valid") }
        self.init(number: number, place: place, since: since)
    }
}

extension HostQueue {
    fileprivate mutating func add(
        _ row: Int, host: String, at now: Duration, since: Duration? = nil
    ) -> HostQueue.Admission {
        add(Row(row, host: host, since: since ?? now), at: now)
    }
}

/// The rules of ``HostQueue`` by exhaustive search.
private struct SlowModel {
    var configuration: HostQueue.Configuration
    var rows: [(row: HostQueue.Row, host: String, deadline: Duration)] = []
    var pacers: [String: HostPacer] = [:]
    var turns: [String: Int] = [:]
    var lastTurn = 0

    func room(for host: String) -> Int {
        let own = rows.filter { $0.host == host }.count
        return max(0, min(configuration.capacity - rows.count, configuration.hostShare - own))
    }

    mutating func add(_ row: HostQueue.Row, at now: Duration) -> HostQueue.Admission {
        let host = row.place.host
        guard rows.count < configuration.capacity else { return .full }
        guard room(for: host) > 0 else { return .deferred }
        if pacers[host] == nil {
            pacers[host] = HostPacer(configuration.pacer)
            lastTurn += 1
            turns[host] = lastTurn
        }
        rows.append((row, host, now + configuration.patience))
        return .accepted
    }

    /// Forgets a host that has neither rows nor requests nor a past.
    mutating func forget(_ host: String, at now: Duration) {
        guard let pacer = pacers[host], pacer.isInitial, pacer.restsUntil <= now else { return }
        if !rows.contains(where: { $0.host == host }) { pacers[host] = nil }
    }

    mutating func next(at now: Duration, hasSlot: Bool) -> HostQueue.Step {
        func isReady(_ host: String) -> Bool { pacers[host]?.nextStart.map { $0 <= now } ?? false }
        let late = rows.indices.filter { rows[$0].deadline <= now && !isReady(rows[$0].host) }
        if let index = late.min(by: { rows[$0].deadline < rows[$1].deadline }) {
            let row = rows.remove(at: index)
            forget(row.host, at: now)
            return .giveUp(row.row)
        }
        if hasSlot {
            let ready = rows.indices.filter { isReady(rows[$0].host) }
            if let index = ready.min(by: { turns[rows[$0].host] ?? 0 < turns[rows[$1].host] ?? 0 }) {
                let row = rows.remove(at: index)
                lastTurn += 1
                turns[row.host] = lastTurn
                pacers[row.host]?.requestDidStart(at: now)
                return .start(row.row)
            }
        }
        let waiting = rows.filter { !isReady($0.host) }
        let starts = hasSlot ? waiting.compactMap { pacers[$0.host]?.nextStart } : []
        return .wait(until: (starts + waiting.map(\.deadline)).min())
    }
}
