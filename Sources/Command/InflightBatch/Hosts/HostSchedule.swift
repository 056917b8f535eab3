internal import InflightCore

/// Decides whose turn it is and when: the pace of hosts (``HostQueue``), robots.txt (``RobotsTable``), and the number
/// of requests at once.
///
/// Rows are numbers. A row of a host that has its share of the window is remembered by its number alone, and its place
/// is asked for when it enters the window. So memory is bounded by the window, plus about two bytes for each row
/// outside (``RowBacklog``).
///
/// ```swift
/// schedule.add(row, place, at: now)
/// switch schedule.next(at: now) {
/// case .start(let row):        // it has a slot until rowDidFinish(_:_:at:)
///     switch schedule.robotsStep(row.number, at: now) { … }
/// ```
///
/// A value without clock, locks and I/O. Times are durations since the start of the run.
package struct HostSchedule: Sendable {
    /// The bounds of a run.
    package struct Configuration: Sendable {
        /// The window of waiting rows, and the pace of hosts.
        package var queue = HostQueue.Configuration()
        /// How robots.txt is read, or `nil` if it is ignored.
        package var robots: RobotsRecord.Configuration?
        /// The maximum number of requests at once, at least 1.
        package var maximumRequests = 256

        /// Creates a configuration with defaults.
        package init() {}
    }

    /// What the caller does next.
    package enum Step: Sendable {
        /// It is the row's turn. It has a slot until ``HostSchedule/rowDidFinish(_:_:at:)``.
        case start(HostQueue.Row)
        /// The host could not serve these rows in time.
        case giveUp([Int], host: String, message: String)
        /// Ask again at the given time, or after the next event.
        case wait(until: Duration?)
    }

    /// What robots.txt says about a row whose turn it is.
    package enum RobotsStep: Sendable {
        /// Fetch the row's image.
        case fetchImage
        /// Fetch the authority's robots.txt, then call ``HostSchedule/robotsDidFinish(_:authority:at:)``.
        case fetchRobots(authority: String)
        /// Wait for another row's fetch of the file.
        case wait
        /// The row has failed, and has no slot any more.
        case fail(class: String, message: String)
    }

    /// The class of a row that ended without a response. All but ``disallowed`` may succeed later.
    package enum FailureClass: String, CaseIterable, Sendable {
        /// A rule of robots.txt disallows the URL.
        case disallowed = "robots_disallowed"
        /// The server answers requests for robots.txt with an error, which disallows the URL. Other failures to fetch
        /// the file have the class of their error.
        case unreachable = "robots_unreachable"
        /// The host could not serve the row in time.
        case impatient = "host_patience"
    }

    /// The maximum number of rows that are given up in one step.
    private static let giveUpLimit = 256

    private let configuration: Configuration
    private var queue: HostQueue
    private var robots: RobotsTable?
    /// The rows that have a slot, and since when.
    private var running: [Int: (place: RowPlace, start: Duration)] = [:]
    /// The rows of hosts that have their share of the window.
    private var spilled: [String: RowBacklog] = [:]
    /// The hosts whose spilled rows enter the window next.
    private var refills: [String] = []

    /// Creates a schedule without rows.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        queue = HostQueue(configuration.queue)
        robots = configuration.robots.map { RobotsTable($0) }
    }

    // MARK: Rows

    /// Whether the window has room for rows. The reader stops while it has none.
    package var wantsRows: Bool { queue.wantsRows }

    /// The number of running requests, those for robots.txt included.
    package var runningCount: Int { running.count }

    /// Adds a row that was read, behind the rows of its host that wait outside of the window.
    package mutating func add(_ row: Int, _ place: RowPlace, at now: Duration) {
        if spilled[place.host] != nil { spill(row, place.host, now) } else { enter(row, place, since: now, at: now) }
    }

    /// Adds a row that had its turn before.
    package mutating func addAgain(_ row: Int, _ place: RowPlace, since: Duration, at now: Duration) {
        enter(row, place, since: since, at: now)
    }

    private mutating func enter(_ row: Int, _ place: RowPlace, since: Duration, at now: Duration) {
        let entry = HostQueue.Row(number: row, place: place, since: since)
        if queue.add(entry, at: now) != .accepted { spill(row, place.host, since) }
    }

    private mutating func spill(_ row: Int, _ host: String, _ since: Duration) {
        if spilled[host] == nil { refills.append(host) }
        spilled[host, default: RowBacklog()].append(row, since: since)
    }

    private mutating func takeSpilled(_ host: String) -> (number: Int, since: Duration) {
        var backlog = spilled.removeValue(forKey: host) ?? RowBacklog()
        defer { if !backlog.isEmpty { spilled[host] = backlog } }
        return backlog.removeFirst()
    }

    /// Moves rows into the window until it is full: spilled rows of hosts that have room.
    ///
    /// - Parameter place: Returns the place of a row.
    /// - Returns: Whether there were any.
    package mutating func refill<Failure: Error>(
        at now: Duration, place: (Int) throws(Failure) -> RowPlace
    ) throws(Failure) -> Bool {
        var rows: [(number: Int, since: Duration)] = []
        var free = room
        var rest: [String] = []
        for (index, host) in refills.enumerated() {
            guard free > 0 else {
                rest += refills[index...]
                break
            }
            var room = min(free, queue.room(for: host))
            while room > 0, spilled[host] != nil {
                rows.append(takeSpilled(host))
                room -= 1
                free -= 1
            }
            if spilled[host] != nil { rest.append(host) }
        }
        refills = rest
        for row in rows { enter(row.number, try place(row.number), since: row.since, at: now) }
        return !rows.isEmpty
    }

    /// Lets the patience of rows with lower numbers count from now on, as
    /// ``HostQueue/countPatience(ofRowsBefore:at:)``.
    package mutating func countPatience(ofRowsBefore end: Int, at now: Duration) {
        queue.countPatience(ofRowsBefore: end, at: now)
    }

    /// The number of rows for which the window has room.
    package var room: Int { configuration.queue.capacity - queue.waiting }

    // MARK: Turns

    /// Returns what can be done now. Call it until it returns ``Step/wait(until:)``.
    package mutating func next(at now: Duration) -> Step {
        switch queue.next(at: now, hasSlot: running.count < max(1, configuration.maximumRequests)) {
        case .start(let row):
            running[row.number] = (row.place, now)
            return .start(row)
        case .giveUp(let row):
            let host = row.place.host
            var rows = [row.number]
            while rows.count < Self.giveUpLimit, let first = spilled[host]?.first,
                queue.deadline(of: first.number, since: first.since, at: now) <= now
            {
                rows.append(takeSpilled(host).number)
            }
            return .giveUp(
                rows, host: host, message: "\(host) could not serve the URL within \(configuration.queue.patience).")
        case .wait(let time): return .wait(until: time)
        }
    }

    /// The row has no slot any more.
    ///
    /// - Parameter pace: What the response says about the pace of the host.
    package mutating func rowDidFinish(_ row: Int, _ pace: HostPacer.Outcome, at now: Duration) {
        guard let ended = running.removeValue(forKey: row) else { return }
        queue.requestDidFinish(host: ended.place.host, pace, startedAt: ended.start, at: now)
    }

    // MARK: robots.txt

    /// Returns what robots.txt says about a row whose turn it is.
    package mutating func robotsStep(_ row: Int, at now: Duration) -> RobotsStep {
        guard let place = running[row]?.place else { return .wait }
        let step = robots?.step(row: row, authority: place.authority, path: place.path, at: now)
        return robotsStep(row, step ?? .proceed, at: now)
    }

    /// Records the end of a request for robots.txt. Returns what it says about the rows that waited for it.
    package mutating func robotsDidFinish(
        _ outcome: RobotsRecord.Outcome, authority: String, at now: Duration
    ) -> [(row: Int, place: RowPlace, step: RobotsStep)] {
        let steps = robots?.fetchDidFinish(outcome, authority: authority, at: now) ?? []
        return steps.compactMap { row, step in
            guard let place = running[row]?.place else { return nil }
            return (row, place, robotsStep(row, step, at: now))
        }
    }

    private mutating func robotsStep(_ row: Int, _ step: RobotsTable.Step, at now: Duration) -> RobotsStep {
        guard let place = running[row]?.place else { return .wait }
        switch step {
        case .proceed:
            if let delay = robots?.crawlDelay(authority: place.authority) {
                queue.setCrawlDelay(delay, host: place.host, at: now)
            }
            return .fetchImage
        case .fetch: return .fetchRobots(authority: place.authority)
        case .wait: return .wait
        case .disallowed:
            rowDidFinish(row, .notSent, at: now)
            return .fail(
                class: FailureClass.disallowed.rawValue, message: "\(place.authority)/robots.txt disallows the path.")
        case .unreachable:
            rowDidFinish(row, .notSent, at: now)
            let obstacle = robots?.obstacle(authority: place.authority)
            var name = FailureClass.unreachable.rawValue
            // Usually the error that the image would fail with. It may be lasting.
            if case .error(let error) = obstacle { name = FailureClasses.name(error) }
            return .fail(
                class: name,
                message: "\(place.authority)/robots.txt could not be fetched, which disallows every path. "
                    + (obstacle?.message ?? ""))
        }
    }
}
