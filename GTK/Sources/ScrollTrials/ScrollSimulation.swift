import InflightConcurrency
import InflightCore
package import InflightGTK
import InflightTestSupport

/// A list that scrolls in simulated time, with cells that follow the rules of a `RemoteImage`, the engine's lane, and a
/// server that responds after 0 to 800 ms. The same seed gives the same scrolling and the same responses.
package final class ScrollSimulation {
    package private(set) var waits = VisibleWaits()
    /// The number of loads that the lane has started.
    package private(set) var begun = 0

    private let priorities: CellMachine.Priorities
    private var scrolling: SeededGenerator, answers: SeededGenerator
    private var lane: Lane<Int, Int>
    /// The end times of the running loads, by row.
    private var running: [Int: Int] = [:]
    private var cells: [Int: Cell] = [:]
    private var now = 0
    private var position = 0.0, velocity = 0.0, direction = 1.0, rest = 0

    // A grid as in a window of 720 × 600.
    private static let (columns, lines, side, page) = (8, 1250, 72.0, 600.0)
    /// The number of lines that GTK's grid keeps bound around the visible ones.
    private static let boundLines = 30
    private static let frame = 16

    private struct Cell {
        var machine: CellMachine
        var ticket: Lane<Int, Int>.Ticket?
    }

    package init(seed: UInt64, places: Int = 24, priorities: CellMachine.Priorities) {
        scrolling = SeededGenerator(seed: seed)
        answers = SeededGenerator(seed: seed + 1000)
        lane = Lane(Lane.Configuration(limit: places))
        self.priorities = priorities
    }

    package func run(frames: Int) {
        for _ in 0..<frames {
            now += Self.frame
            finish()
            scroll()
            bind()
            look()
            start()
        }
    }

    // MARK: A frame

    private func scroll() {
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
        let first = max(0, middle - Self.boundLines / 2), last = min(Self.lines, middle + Self.boundLines / 2)
        let bound = first * Self.columns..<last * Self.columns
        for row in cells.keys.sorted() where !bound.contains(row) {
            perform(cells[row]!.machine.unbound(), of: row)
            cells[row] = nil
        }
        for row in bound where cells[row] == nil {
            cells[row] = Cell(machine: CellMachine(priorities: priorities))
            perform(cells[row]!.machine.bound(isInMemory: false), of: row)
        }
    }

    private func look() {
        let room = Viewport(width: 720, height: Self.page, direction: (0, direction))
        var seen: [Int: Bool] = [:]
        for row in cells.keys.sorted() {
            let x = Double(row % Self.columns) * 90, y = Double(row / Self.columns) * Self.side - position
            let nearness = room.nearness(x: x, y: y, width: 90, height: Self.side)
            perform(cells[row]!.machine.looked(nearness), of: row)
            if nearness == .visible { seen[row] = cells[row]!.machine.phase == .loaded }
        }
        waits.look(seen, at: now)
    }

    // MARK: Loads

    private var time: MonotonicTime { MonotonicTime(nanoseconds: Int64(now) * 1_000_000) }

    private func perform(_ actions: CellMachine.Actions, of row: Int) {
        if actions.cancels {
            if let ticket = cells[row]!.ticket {
                lane.remove(ticket)
            } else if running.removeValue(forKey: row) != nil {
                lane.release(group: 0, now: time)
            }
            cells[row]!.ticket = nil
        }
        if let priority = actions.begins {
            cells[row]!.ticket = lane.enqueue(row, level: Int(priority.rawValue), group: 0, now: time)
        }
        if let priority = actions.turns, let ticket = cells[row]!.ticket {
            lane.move(ticket, toLevel: Int(priority.rawValue), now: time)
        }
    }

    private func start() {
        while let row = lane.next(now: time) {
            begun += 1
            cells[row]!.ticket = nil
            running[row] = now + Int.random(in: 0...800, using: &answers)
        }
    }

    private func finish() {
        for (row, end) in running.sorted(by: { $0.key < $1.key }) where end <= now {
            running[row] = nil
            lane.release(group: 0, now: time)
            perform(cells[row]!.machine.ended(hasImage: true), of: row)
        }
    }
}
