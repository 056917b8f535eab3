import InflightConcurrency
import InflightCore
package import InflightGTK
import InflightTestSupport

/// A list that scrolls in simulated time, with cells that follow the rules of a `RemoteImage`, the engine's lane, and a
/// server that responds after 0 to 800 ms. The same seed gives the same scrolling and the same responses.
package final class ScrollSimulation {
    /// How the list is scrolled.
    package enum Motion: Hashable, Sendable {
        /// Flings of random speeds in both directions, with rests in between.
        case flings
        /// Steadily down, so many cells per second.
        case steady(cellsPerSecond: Double)
    }

    package struct Settings: Sendable {
        package var motion = Motion.flings
        /// Whether the newest of the loads of one priority goes first, as the loads of an `ImageLoader` do.
        package var isNewestFirst = true
        /// The number of loads that run at once.
        package var slots = 24
        package var priorities = CellMachine.Priorities()
        /// The number of pages ahead that are prefetched at the lowest priority.
        package var prefetchedPages = 0

        package init() {}
    }

    package private(set) var waits = VisibleWaits()
    /// The number of loads that the lane has started.
    package private(set) var begun = 0
    /// The longest time in milliseconds that a cell on the screen has waited for its load to start.
    package private(set) var longestQueued = 0

    private let settings: Settings
    private var scrolling: SeededGenerator, answers: SeededGenerator
    private var lane: Lane<Int, Int>
    /// The loads that wait or run, by row.
    private var loads: [Int: Load] = [:]
    private var cells: [Int: CellMachine] = [:]
    private var prefetched: Range<Int> = 0..<0
    /// The rows whose images are in memory.
    private var loaded: Set<Int> = []
    /// Since when the rows on the screen have waited for their loads to start.
    private var waiting: [Int: Int] = [:]
    private var now = 0
    private var position = 0.0, velocity = 0.0, direction = 1.0, rest = 0

    // A grid as in a window of 720 × 600.
    private static let (columns, lines, side, page) = (8, 1250, 72.0, 600.0)
    /// The number of lines that GTK's grid keeps bound around the visible ones.
    private static let boundLines = 30
    private static let frame = 16

    private struct Load {
        /// The level at which the cell wants it, and whether it is prefetched.
        var wanted: Int?
        var isPrefetched = false
        var ticket: Lane<Int, Int>.Ticket?
        /// When the response is complete, once the load has started.
        var end: Int?

        var level: Int? { wanted ?? (isPrefetched ? 0 : nil) }
    }

    package init(seed: UInt64, _ settings: Settings = Settings()) {
        scrolling = SeededGenerator(seed: seed)
        answers = SeededGenerator(seed: seed + 1000)
        // As the engine's lane of fetches, for one origin.
        var configuration = Lane<Int, Int>.Configuration(limit: settings.slots)
        configuration.reserve = Lane<Int, Int>.Configuration.reserve(of: settings.slots)
        lane = Lane(configuration)
        self.settings = settings
    }

    package func run(frames: Int) {
        for _ in 0..<frames {
            now += Self.frame
            finish()
            scroll()
            bind()
            prefetch()
            look()
            start()
        }
    }

    // MARK: A frame

    private func scroll() {
        if case .steady(let cells) = settings.motion {
            position += cells / Double(Self.columns) * Self.side * Double(Self.frame) / 1000
            return
        }
        if rest > 0 { return rest -= 1 }
        if abs(velocity) < 2 {
            velocity = Double.random(in: -100...200, using: &scrolling)
            rest = Int.random(in: 20..<80, using: &scrolling)
            return
        }
        let limit = Double(Self.lines) * Self.side - Self.page
        position = min(limit, max(0, position + velocity))
        direction = velocity < 0 ? -1 : 1
        velocity *= 0.95
    }

    private func bind() {
        let middle = Int((position + Self.page / 2) / Self.side)
        let bound = rows(ofLines: middle - Self.boundLines / 2..<middle + Self.boundLines / 2)
        for row in cells.keys.sorted() where !bound.contains(row) {
            perform(cells[row]!.unbound(), of: row)
            cells[row] = nil
        }
        for row in bound where cells[row] == nil {
            cells[row] = CellMachine(priorities: settings.priorities)
            perform(cells[row]!.bound(isInMemory: loaded.contains(row)), of: row)
        }
    }

    private func prefetch() {
        guard settings.prefetchedPages > 0 else { return }
        let pages = settings.prefetchedPages * Int(Self.page / Self.side)
        let first = Int(position / Self.side), last = Int((position + Self.page) / Self.side) + 1
        let wanted = rows(ofLines: direction < 0 ? first - pages..<first : last..<last + pages)
        for row in prefetched where !wanted.contains(row) { change(row) { $0.isPrefetched = false } }
        for row in wanted where !prefetched.contains(row) && !loaded.contains(row) {
            change(row) { $0.isPrefetched = true }
        }
        prefetched = wanted
    }

    private func rows(ofLines lines: Range<Int>) -> Range<Int> {
        max(0, lines.lowerBound) * Self.columns..<max(0, min(Self.lines, lines.upperBound)) * Self.columns
    }

    private func look() {
        let room = Viewport(width: 720, height: Self.page, direction: (0, direction))
        var seen: [Int: Bool] = [:]
        for row in cells.keys.sorted() {
            let x = Double(row % Self.columns) * 90, y = Double(row / Self.columns) * Self.side - position
            let nearness = room.nearness(x: x, y: y, width: 90, height: Self.side)
            perform(cells[row]!.looked(nearness), of: row)
            if nearness == .visible { seen[row] = cells[row]!.phase == .loaded }
        }
        waits.look(seen, at: now)
        waiting = waiting.filter { seen[$0.key] != nil && loads[$0.key]?.ticket != nil }
        for row in seen.keys where loads[row]?.ticket != nil {
            let since = waiting[row] ?? now
            waiting[row] = since
            longestQueued = max(longestQueued, now - since)
        }
    }

    // MARK: Loads

    private var time: MonotonicTime { MonotonicTime(nanoseconds: Int64(now) * 1_000_000) }

    private func perform(_ actions: CellMachine.Actions, of row: Int) {
        if actions.cancels { change(row) { $0.wanted = nil } }
        if let priority = actions.begins ?? actions.turns { change(row) { $0.wanted = Int(priority.rawValue) } }
    }

    /// Changes who wants the image of a row: starts, moves or cancels its load.
    private func change(_ row: Int, _ body: (inout Load) -> Void) {
        let isNew = loads[row] == nil
        var load = loads[row] ?? Load()
        body(&load)
        guard let level = load.level else {
            if let ticket = load.ticket { lane.remove(ticket) }
            if load.end != nil { lane.release(group: 0, now: time) }
            loads[row] = nil
            return
        }
        if isNew {
            load.ticket = lane.enqueue(
                row, level: level, group: 0, now: time, ahead: settings.isNewestFirst && load.wanted != nil)
        } else if let ticket = load.ticket {
            lane.move(ticket, toLevel: level, ahead: settings.isNewestFirst && load.wanted != nil, now: time)
        }
        loads[row] = load
    }

    private func start() {
        while let row = lane.next(now: time) {
            begun += 1
            loads[row]!.ticket = nil
            loads[row]!.end = now + Int.random(in: 0...800, using: &answers)
        }
    }

    private func finish() {
        let ended = loads.compactMap { row, load in load.end.map { (row, $0) } }.filter { $0.1 <= now }
        for (row, _) in ended.sorted(by: { $0 < $1 }) {
            loads[row] = nil
            loaded.insert(row)
            lane.release(group: 0, now: time)
            if var cell = cells[row] {
                let actions = cell.ended(hasImage: true)
                cells[row] = cell
                perform(actions, of: row)
            }
        }
    }
}
