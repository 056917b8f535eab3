import Testing

@testable import InflightBatch

@Suite("Monitor of a batch run", .timeLimit(.minutes(2)))
struct BatchMonitorTests {
    /// A monitor, the time, and the warnings so far with the seconds in which they came.
    private struct World {
        var monitor = BatchMonitor()
        var second = 0
        var warnings: [(second: Int, warning: BatchMonitor.Warning)] = []

        mutating func end(_ row: BatchRowEnd) {
            warnings += monitor.rowDidEnd(row, at: .seconds(second)).map { (second, $0) }
        }

        /// Lets seconds pass with 10 rows each, of which some fail.
        mutating func pass(_ seconds: Int, failures: Int) {
            for _ in 0..<seconds {
                for row in 0..<10 {
                    end(BatchRowEnd(row: 0, host: "a", kind: row < failures ? .failure(class: "timedOut") : .success))
                }
                second += 1
            }
        }

        /// Ends a row whose body consists of one repeated byte.
        mutating func receive(_ body: UInt8, host: String, kind: BatchRowEnd.Kind = .success) {
            var row = BatchRowEnd(row: 0, host: host, kind: kind)
            row.digest = ContentDigest([UInt8](repeating: body, count: 32))
            end(row)
        }
    }

    @Test("Rows are counted by outcome, class and host, with their bytes")
    func counts() {
        var world = World()
        var image = BatchRowEnd(row: 0, host: "a", kind: .success)
        (image.receivedBytes, image.imageBytes) = (500, 20)
        for row in [
            image, image, BatchRowEnd(row: 1, host: "a", kind: .duplicate),
            BatchRowEnd(row: 2, host: "a", kind: .failure(class: "http_404")),
            BatchRowEnd(row: 3, host: "b", kind: .failure(class: "http_404")),
            BatchRowEnd(row: 4, host: "b", kind: .failure(class: "timedOut")),
        ] {
            world.end(row)
        }
        let monitor = world.monitor
        #expect([monitor.rows, monitor.successes, monitor.duplicates, monitor.failures] == [6, 2, 1, 3])
        #expect(monitor.failureClasses == ["http_404": 2, "timedOut": 1])
        #expect(
            monitor.groups == [
                .init(failureClass: "http_404", host: "a"): 1, .init(failureClass: "http_404", host: "b"): 1,
                .init(failureClass: "timedOut", host: "b"): 1,
            ])
        #expect([monitor.receivedBytes, monitor.imageBytes] == [1000, 40])
    }

    @Test("Failing hosts beyond a thousand are counted together, and the first ones still apart")
    func manyHosts() {
        var world = World()
        for number in [0..<1200, 0..<1].joined() {
            world.end(BatchRowEnd(row: 0, host: "h\(number)", kind: .failure(class: "http_404")))
        }
        #expect(world.monitor.groups.count == 1001)
        #expect(world.monitor.groups[.init(failureClass: "http_404", host: BatchMonitor.otherHosts)] == 200)
        #expect(world.monitor.groups[.init(failureClass: "http_404", host: "h0")] == 2)
    }

    @Test("The rate of successes is that of the last minute, and at first of the time since the start")
    func rate() throws {
        var world = World()
        #expect(world.monitor.successRate(at: .zero) == 0 && world.monitor.timeLeft(rows: 9, at: .zero) == nil)
        world.pass(5, failures: 5)
        #expect(world.monitor.timeLeft(rows: 50, at: .seconds(5)) == nil, "50 rows are few")
        #expect(world.monitor.timeLeft(rows: 50, at: .seconds(10)) == .seconds(10), "after 10 s, few rows tell enough")
        world.pass(5, failures: 5)
        #expect(world.monitor.successRate(at: .seconds(10)) == 5)
        #expect(world.monitor.timeLeft(rows: 50, at: .seconds(10)) == .seconds(5))
        world.pass(110, failures: 0)
        #expect(world.monitor.successRate(at: .seconds(119) + .milliseconds(999)) > 9.99)
        #expect(world.monitor.successRate(at: .seconds(150)) == Double(290) / 59)
        #expect(world.monitor.successRate(at: .seconds(180)) == 0)
        #expect(world.monitor.timeLeft(rows: 50, at: .seconds(180)) == nil)
    }

    @Test("An increase of failures is reported once, and again only after it is over")
    func increase() throws {
        var world = World()
        world.pass(180, failures: 1)
        #expect(world.warnings.isEmpty)
        world.pass(300, failures: 9)
        // A quarter of the last minute has failed at nine times the share before.
        let first = try #require(world.warnings.first)
        #expect((190...200).contains(first.second), "\(first)")
        guard case .failuresIncreased(let before, let now) = first.warning else {
            Issue.record("\(first)")
            return
        }
        #expect(abs(before - 0.1) < 0.01 && now >= before + 0.2)
        #expect(first.warning.description.hasPrefix("31 % of the most recent rows failed, after 10 % of those before."))
        world.pass(200, failures: 1)
        #expect(world.warnings.count == 1)
        // The rows of the first increase would hide the second.
        world.pass(60, failures: 5)
        #expect(world.warnings.count == 2)
    }

    @Test(
        "A share of failures that is small, steady or declining is no increase",
        arguments: [[1, 2, 1, 2], [6, 7, 6, 7], [9, 1, 1, 1], [4, 7, 7, 7]])
    func noIncrease(_ failures: [Int]) {
        var world = World()
        for count in failures { world.pass(150, failures: count) }
        #expect(world.warnings.isEmpty, "\(world.warnings)")
    }

    @Test("Few rows are no increase")
    func fewRows() {
        var world = World()
        world.pass(180, failures: 0)
        world.second += 60
        for _ in 0..<99 { world.end(BatchRowEnd(row: 0, host: "a", kind: .failure(class: "timedOut"))) }
        world.second += 1
        world.end(BatchRowEnd(row: 0, host: "a", kind: .failure(class: "timedOut")))
        #expect(world.warnings.isEmpty)
        world.second += 1
        world.end(BatchRowEnd(row: 0, host: "a", kind: .failure(class: "timedOut")))
        #expect(world.warnings.count == 1)
    }

    @Test("In the first two minutes, slow failures are no increase, and an outage is")
    func young() {
        var slow = World()
        slow.pass(20, failures: 0)
        slow.pass(60, failures: 5)
        #expect(slow.warnings.isEmpty)
        var outage = World()
        outage.pass(20, failures: 1)
        outage.pass(40, failures: 10)
        #expect(outage.warnings.count == 1)
        #expect(outage.warnings.first.map { (30...45).contains($0.second) } == true, "\(outage.warnings)")
    }

    @Test("A host with 20 equal bodies in a row is reported once")
    func equalBodies() {
        var world = World()
        for body: UInt8 in 0..<19 { world.receive(body, host: "a") }
        for number in 0..<19 { world.receive(7, host: "b", kind: number % 2 == 0 ? .success : .duplicate) }
        // Another host's body, a failure with a body and a row without one do not count.
        world.receive(8, host: "a")
        world.receive(9, host: "b", kind: .failure(class: "notAnImage"))
        world.end(BatchRowEnd(row: 0, host: "b", kind: .duplicate))
        #expect(world.warnings.isEmpty)
        world.receive(7, host: "b")
        #expect(world.warnings.map(\.warning) == [.equalBodies(host: "b", count: 20)])
        world.receive(3, host: "b")
        for _ in 0..<100 { world.receive(7, host: "b") }
        #expect(world.warnings.count == 1)
    }

    @Test("A host with equal bodies is found among many hosts with one")
    func equalBodiesOfManyHosts() {
        var world = World()
        for number in 0..<20_000 {
            world.receive(1, host: "h\(number)")
            if number % 300 == 0 { world.receive(1, host: "placeholder") }
        }
        #expect(world.warnings.map(\.warning) == [.equalBodies(host: "placeholder", count: 20)])
    }

    @Test("A host with equal bodies is found after a thousand hosts with two")
    func equalBodiesAfterManyHosts() {
        var world = World()
        for number in 0..<2000 { world.receive(1, host: "h\(number / 2)") }
        for _ in 0..<20 { world.receive(1, host: "placeholder") }
        #expect(world.warnings.map(\.warning) == [.equalBodies(host: "placeholder", count: 20)])
    }
}
