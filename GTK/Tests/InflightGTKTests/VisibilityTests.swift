import InflightCore
import InflightGTK
import ScrollTrials
import Testing

@Suite("Scroll simulation", .timeLimit(.minutes(10)))
struct VisibilityTests {
    @Test("Visible cells get their images sooner than with equal priorities", arguments: 1...3 as ClosedRange<UInt64>)
    func sooner(seed: UInt64) throws {
        let first = ScrollSimulation(seed: seed)
        var alike = ScrollSimulation.Settings()
        alike.priorities = CellMachine.Priorities(visible: .normal, near: .normal, away: .normal)
        let all = ScrollSimulation(seed: seed, alike)
        for each in [first, all] { each.run(frames: 1500) }
        // Equal priorities load more rows ahead, so that more cells have their image when they come into view. Those
        // that have none then wait behind these loads.
        #expect(first.waits.had < all.waits.had && first.waits.got > all.waits.got)
        #expect(try #require(first.waits.percentile(0.5)) < all.waits.percentile(0.5) ?? .max)
        #expect(try #require(first.waits.percentile(0.95)) < all.waits.percentile(0.95) ?? .max)
    }

    @Test(
        "Newest first leaves fewer cells blank than oldest first, with fewer requests, and no visible cell waits 20 s",
        arguments: 1...3 as ClosedRange<UInt64>)
    func order(seed: UInt64) {
        var settings = ScrollSimulation.Settings()
        settings.slots = 6
        settings.motion = .steady(cellsPerSecond: 46)
        let newest = ScrollSimulation(seed: seed, settings)
        settings.isNewestFirst = false
        let oldest = ScrollSimulation(seed: seed, settings)
        for each in [newest, oldest] { each.run(frames: 1000) }
        #expect(newest.waits.left < oldest.waits.left && newest.begun < oldest.begun)
        settings = ScrollSimulation.Settings()
        (settings.slots, settings.prefetchedPages) = (6, 2)
        let flings = ScrollSimulation(seed: seed, settings)
        flings.run(frames: 1500)
        #expect(flings.longestQueued < 20_000)
    }

    @Test("Percentiles of waits include cells that left before their images arrived")
    func waits() {
        var waits = VisibleWaits()
        #expect(waits.percentile(0.5) == nil)
        for time in [10, 20, 30, 40] { waits.received(after: time) }
        #expect(waits.percentile(0.5) == 20 && waits.percentile(1) == 40)
        // Four rows that left early say nothing about later times. Two that left at 25 waited longer than 20.
        for _ in 0..<4 { waits.left(after: 5) }
        #expect(waits.percentile(0.5) == 20)
        for _ in 0..<2 { waits.left(after: 25) }
        #expect(waits.percentile(0.5) == 30)
    }
}
