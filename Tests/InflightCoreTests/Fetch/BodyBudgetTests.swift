import InflightTestSupport
import Testing

@testable import InflightCore

@Suite("Budget of bodies in flight", .timeLimit(.minutes(1)))
struct BodyBudgetTests {
    private static let unit: Int64 = 8 << 20

    /// An event of transfers 1 to 4, which share a budget of 8 units and pause above 7.
    enum Event: Sendable {
        case holds(UInt64, units: Int64, isRoom: Bool)
        case asks(UInt64, BodyBudget.Answer)
        case asksWithoutPause(UInt64, BodyBudget.Answer)
        case priority(UInt64, ImageRequest.Priority)
        /// The transfers that continue afterwards; a negative number has to spill first.
        case spilled(UInt64, [Int64])
        case sleeps(UInt64, [Int64])
        case ends(UInt64, [Int64])
    }

    private static func run(_ events: [Event], _ budget: inout BodyBudget) {
        func check(_ grants: [BodyBudget.Grant], _ expected: [Int64]) {
            #expect(grants.map { $0.spills ? -Int64($0.id) : Int64($0.id) } == expected)
        }
        for event in events {
            switch event {
            case .holds(let id, let count, let isRoom): #expect(budget.recordBytes(count * unit, of: id) == isRoom)
            case .asks(let id, let answer): #expect(budget.decide(id) { { _ in } } == answer)
            case .asksWithoutPause(let id, let answer):
                #expect(budget.decide(id, mayPause: false) { { _ in } } == answer)
            case .priority(let id, let priority): budget.priorityChanged(id, to: priority)
            case .spilled(let id, let next): check(budget.spilled(id), next)
            case .sleeps(let id, let next): check(budget.slept(id), next)
            case .ends(let id, let next): check(budget.ended(id), next)
            }
        }
    }

    @Test(
        "All transfers continue while there is room, then only the oldest",
        arguments: [
            // Everything fits.
            [.holds(1, units: 3, isRoom: true), .holds(2, units: 4, isRoom: true), .asks(2, .proceed)],
            // The younger pauses until the older ends.
            [
                .holds(1, units: 3, isRoom: true), .holds(2, units: 5, isRoom: false), .asks(2, .pause),
                .ends(1, [2]), .ends(1, []), .holds(2, units: 6, isRoom: true), .ends(2, []),
            ],
            // The oldest spills and continues, so that the other fits. From then on, the oldest may hold only its
            // share.
            [
                .holds(1, units: 4, isRoom: true), .holds(2, units: 4, isRoom: false), .asks(2, .pause),
                .asks(1, .spill), .spilled(1, [2]), .holds(2, units: 8, isRoom: false), .asks(2, .pause),
                .holds(1, units: 0, isRoom: false), .asks(1, .proceed), .holds(1, units: 1, isRoom: false),
                .asks(1, .spill), .spilled(1, []), .ends(1, [-2]), .spilled(2, []), .ends(2, []),
            ],
            // If the others are paused, the end of the oldest lets the next one spill and continue beyond the
            // threshold.
            [
                .holds(1, units: 1, isRoom: true), .holds(2, units: 4, isRoom: true),
                .holds(3, units: 4, isRoom: false), .asks(3, .pause), .asks(2, .pause), .ends(1, [-2]),
                .spilled(2, [3]),
            ],
            // A sleeping transfer does not count as the oldest, and keeps its bytes.
            [
                .holds(1, units: 4, isRoom: true), .holds(2, units: 4, isRoom: false), .asks(2, .pause),
                .sleeps(1, [-2]), .spilled(2, []), .holds(3, units: 4, isRoom: false), .asks(3, .pause),
                .holds(1, units: 5, isRoom: false), .asks(1, .spill),
            ],
            // The most urgent continues first, then the oldest.
            [
                .holds(1, units: 5, isRoom: true), .holds(2, units: 1, isRoom: true),
                .holds(3, units: 1, isRoom: true), .holds(4, units: 1, isRoom: false), .asks(2, .pause),
                .asks(3, .pause), .asks(4, .pause), .priority(4, .high), .ends(1, [4, 2, 3]),
            ],
            // A transfer that cannot pause spills, even if it is not the oldest.
            [
                .holds(1, units: 4, isRoom: true), .holds(2, units: 4, isRoom: false),
                .asksWithoutPause(2, .spill), .spilled(2, []),
            ],
            // A paused transfer that ends releases its bytes.
            [
                .holds(1, units: 4, isRoom: true), .holds(2, units: 4, isRoom: false), .asks(2, .pause),
                .ends(2, []), .ends(2, []), .ends(1, []),
            ],
        ] as [[Event]])
    func decides(events: [Event]) {
        var budget = BodyBudget(limit: 8 * Self.unit, transfers: 4)
        #expect((1...4).map { _ in budget.began() } == [1, 2, 3, 4])
        Self.run(events, &budget)
        for id in 1...4 as ClosedRange<UInt64> { _ = budget.ended(id) }
        #expect(budget.heldBytes == 0)
        #expect(budget.pausedCount == 0)
        #expect(budget.count == 0)
    }

    @Test("With any limit, a paused transfer continues when all others have ended")
    func limits() {
        for limit in [0, 1, 100, Int64.max] {
            var budget = BodyBudget(limit: limit, transfers: .max)
            let (first, second) = (budget.began(), budget.began())
            _ = budget.recordBytes(1000, of: first)
            _ = budget.recordBytes(1000, of: second)
            let answer = budget.decide(second) { { _ in } }
            #expect(answer == (limit == .max ? .proceed : .pause))
            #expect(budget.ended(first).map(\.id) == (limit == .max ? [] : [second]))
        }
    }

    // MARK: Fetches

    /// Eight pieces of 1 KiB, each different.
    private static let body = Bytes((0..<8 as Range<UInt8>).flatMap { [UInt8](repeating: $0, count: 1024) })

    /// Serves bodies of 8 KiB in pieces of 1 KiB. Transfers pause above 8 KiB in total.
    private func stage(_ change: (inout ImagePipeline.Configuration) -> Void = { _ in }) throws -> Stage {
        let stage = try Stage(executor: ManualExecutor()) {
            $0.maximumBodyBytesInFlight = 16 * 1024
            change(&$0)
        }
        stage.transport.serveOthers(.ok(Self.body, chunks: [1024]))
        return stage
    }

    private func held(_ stage: Stage) -> Int64 { stage.pipeline.statistics.bodyBytesInFlight }

    private func url(_ number: Int) -> String { "http://a.example/\(number)" }

    @Test("A transfer pauses when the budget is exhausted, and resumes when the older one has ended")
    func pauses() throws {
        let stage = try stage()
        let log = Log()
        for number in 0..<2 { load(stage, number, log) }
        for number in 0..<2 { for _ in 0..<6 { stage.transport.step(url(number)) } }
        #expect(stage.pipeline.statistics.pausedTransfers == 1)
        #expect(held(stage) == 9 * 1024)
        #expect(!stage.transport.step(url(1)))
        for number in 0..<2 { while stage.transport.finish(url(number)) { stage.runTurns() } }
        #expect(stage.pipeline.statistics.pausedTransfers == 0)
        stage.queue.runAll()
        #expect(log.lines == ["0: whole", "1: whole"])
        #expect(held(stage) == 0)
    }

    @Test("The oldest transfer spills and, unless cancelled, delivers its body", arguments: [true, false])
    func spills(isCancelled: Bool) throws {
        let stage = try stage { $0.maximumBodyBytesInFlight = 4 * 1024 }
        let log = Log()
        let task = load(stage, 0, log)
        for _ in 0..<4 { stage.transport.step(url(0)) }
        #expect(!stage.transport.step(url(0)))
        // The transfer waits for a worker thread to spill its body.
        if isCancelled { task.cancel() }
        stage.runTurns()
        #expect(held(stage) == 0)
        for _ in 0..<20 where stage.transport.step(url(0)) { stage.runTurns() }
        stage.transport.finishAll()
        stage.runTurns()
        stage.queue.runAll()
        #expect(log.lines == (isCancelled ? [] : ["0: whole"]))
        #expect(held(stage) == 0)
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
    }

    @Test("Cancelled fetches, paused or not, release their bytes exactly once")
    func givesBack() throws {
        let stage = try stage()
        let tasks = (0..<3).map { load(stage, $0, Log()) }
        for number in 0..<3 { for _ in 0..<8 { stage.transport.step(url(number)) } }
        #expect(stage.pipeline.statistics.pausedTransfers == 2)
        let before = held(stage)
        tasks[2].cancel()
        stage.transport.step(url(2))
        #expect(held(stage) < before)
        tasks[0].cancel()
        stage.transport.step(url(0))
        #expect(stage.pipeline.statistics.pausedTransfers == 0)
        stage.runTurns()
        stage.transport.finish(url(1))
        stage.runTurns()
        stage.transport.finishAll()
        #expect(held(stage) == 0)
        #expect(stage.pipeline.statistics.jobsInFlight == 0)
    }

    @Test("Without a writable temporary folder, the oldest transfer fails with tooLarge and states why")
    func noFile() throws {
        let stage = try stage {
            $0.maximumBodyBytesInFlight = 1024
            $0.temporaryFolder = "/nowhere/at/all"
        }
        let log = Log()
        stage.pipeline.loadResponse(ImageRequest(url(0)), on: stage.queue.callbackQueue) { _, result in
            if case .failure(let error) = result { log.add("\(error.code.rawValue): \(error.message)") }
        }
        stage.transport.finish(url(0))
        stage.runTurns()
        stage.transport.finishAll()
        stage.queue.runAll()
        #expect(log.lines.map { $0.hasPrefix("tooLarge: ") && $0.contains("no temporary file") } == [true])
        #expect(held(stage) == 0)
    }

    @discardableResult
    private func load(_ stage: Stage, _ number: Int, _ log: Log) -> ImageTask {
        stage.pipeline.loadResponse(ImageRequest(url(number)), on: stage.queue.callbackQueue) { _, result in
            let body = (try? result.get())?.body
            log.add("\(number): \(body == Self.body ? "whole" : "\(body?.count ?? -1) bytes")")
        }
    }
}
