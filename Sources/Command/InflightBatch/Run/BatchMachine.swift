internal import InflightCore

/// Decides what a run of `inflight batch` does next: which rows are read, fetched, ended and assembled.
///
/// It joins the pace of hosts (``HostQueue``), robots.txt (``RobotsTable``) and the assembly of shards
/// (``ShardAssembler``). The caller performs the returned actions in order, and reports how they ended:
///
/// ```swift
/// while machine.wantsRow, let row = try input.next() { perform(try machine.rowWasRead(row.number, …)) }
/// let (actions, wakeTime) = try machine.next(at: now)
/// ```
///
/// Rows are numbers. The caller holds their contents, and returns the place of one when ``Action/load(_:)`` asks for
/// it. So memory is bounded by the window, plus 24 bytes for each row of an open shard.
///
/// A value without clock, locks and I/O. Times are durations since the start of the run.
package struct BatchMachine<Token: Sendable>: Sendable {
    /// A reported event that contradicts earlier ones.
    package typealias Failure = ShardAssembler<Token>.Failure

    /// The bounds of a run.
    package struct Configuration: Sendable {
        /// The window of waiting rows, and the pace of hosts.
        package var queue = HostQueue<Row>.Configuration()
        /// The shards, and the limit of staged bytes.
        package var assembler: ShardAssembler<Token>.Configuration
        /// How robots.txt is read, or `nil` if it is ignored.
        package var robots: RobotsRecord.Configuration?
        /// The maximum number of requests at once, at least 1.
        package var maximumRequests = 256

        /// Creates a configuration.
        package init(assembler: ShardAssembler<Token>.Configuration, robots: RobotsRecord.Configuration? = nil) {
            self.assembler = assembler
            self.robots = robots
        }
    }

    /// Where a row's URL leads.
    package struct Place: Hashable, Sendable {
        /// The host's name, whose pace applies.
        package var host: String
        /// Scheme, host and port, whose robots.txt applies.
        package var authority: String
        /// Path and query.
        package var path: String

        /// Creates a place.
        package init(host: String, authority: String, path: String) {
            self.host = host
            self.authority = authority
            self.path = path
        }
    }

    /// A row in the window.
    package struct Row: Sendable {
        var number: Int
        var place: Place
        var since: Duration
    }

    /// What the caller does.
    package enum Action: Sendable {
        /// Fetch the row's image, then call ``BatchMachine/rowDidFinish(_:_:pace:at:)``.
        case fetch(Int)
        /// Fetch an authority's robots.txt, then call ``BatchMachine/robotsDidFinish(_:authority:at:)``.
        case fetchRobots(authority: String)
        /// Read the row again from the caller's own store, and call ``BatchMachine/rowWasLoaded(_:_:at:)``.
        case load(Int)
        /// Record a row that ended without a request.
        case record(Int, RowOutcome<Token>)
        /// Assemble a shard, then call ``BatchMachine/shardDidAssemble(_:)``.
        case assemble(shard: Int, rows: Range<Int>, outcomes: [AssembledOutcome<Token>])
        /// Remove the staged images of a finished shard.
        case discard(shard: Int)
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

    private struct Running {
        var place: Place
        var start: Duration
    }

    /// Rows outside of the window, in the order in which they enter it.
    private struct Spill {
        private(set) var rows: [(number: Int, since: Duration)] = []
        private var next = 0

        var first: (number: Int, since: Duration)? { isEmpty ? nil : rows[next] }
        var waiting: ArraySlice<(number: Int, since: Duration)> { rows[next...] }

        var isEmpty: Bool { next == rows.count }

        mutating func append(_ number: Int, since: Duration) { rows.append((number, since)) }

        mutating func removeFirst() -> (number: Int, since: Duration) {
            defer {
                next += 1
                if next * 2 > rows.count {
                    rows.removeFirst(next)
                    next = 0
                }
            }
            return rows[next]
        }
    }

    private let configuration: Configuration
    private var queue: HostQueue<Row>
    private var assembler: ShardAssembler<Token>
    private var robots: RobotsTable?
    private var running: [Int: Running] = [:]
    /// The rows of hosts that have their share of the window.
    private var spilled: [String: Spill] = [:]
    /// The hosts whose spilled rows enter the window next.
    private var refills: [String] = []
    /// The rows whose turn came while the staging folder was full.
    private var parked = Spill()
    /// The oldest open shard when the parked rows were last searched for its rows.
    private var searchedShard: Int?
    /// The rows that are being loaded, and when they were read.
    private var loading: [Int: Duration] = [:]
    private var nextRow = 0
    private var isStopping = false

    /// Creates the machine of a run.
    ///
    /// - Parameters:
    ///   - configuration: The bounds of the run.
    ///   - finishedShards: The shards that an earlier run finished. Their rows are read, and nothing is done for them.
    package init(_ configuration: Configuration, finishedShards: ShardSet = ShardSet()) {
        self.configuration = configuration
        queue = HostQueue(configuration.queue)
        assembler = ShardAssembler(configuration.assembler, finishedShards: finishedShards)
        robots = configuration.robots.map { RobotsTable($0) }
    }

    // MARK: State

    /// Whether the caller reads another row. It stops reading while the window is full, and while the row's shard would
    /// be too far ahead of the oldest open one. While the staging folder is full, it reads only that shard.
    package var wantsRow: Bool {
        guard !isStopping, assembler.rowCount == nil, queue.wantsRows else { return false }
        let shard = configuration.assembler.layout.position(of: nextRow).shard
        let ahead = assembler.isFull ? 1 : max(1, configuration.assembler.openShardLimit)
        return shard < assembler.finishedShards.firstMissing + ahead
    }

    /// Whether all shards are finished.
    package var isFinished: Bool { assembler.isFinished }

    /// The number of running requests, those for robots.txt included.
    package var runningCount: Int { running.count }

    /// The number of times that the staging folder became full.
    package var fullCount: Int { assembler.fullCount }

    /// The size of the staged files, in bytes.
    package var stagedBytes: Int64 { assembler.stagedBytes }

    /// The shards that are finished.
    package var finishedShards: ShardSet { assembler.finishedShards }

    // MARK: Input

    /// Records that the next row was read, whose URL has not occurred before.
    package mutating func rowWasRead(_ row: Int, _ place: Place, at now: Duration) throws(Failure) -> [Action] {
        try didRead(row)
        guard needsOutcome(row) else { return [] }
        add(row, place, since: now, at: now)
        return []
    }

    /// Records that the next row was read, whose outcome is known: from an earlier run, or because its URL is that of
    /// an earlier row, or malformed.
    ///
    /// - Parameter isRecorded: Whether the caller has recorded it before.
    package mutating func rowWasRead(
        _ row: Int, outcome: RowOutcome<Token>, isRecorded: Bool = false
    ) throws(Failure) -> [Action] {
        try didRead(row)
        guard needsOutcome(row) else { return [] }
        let actions = try end(row, outcome)
        return isRecorded ? actions : [.record(row, outcome)] + actions
    }

    /// Records the end of the input.
    package mutating func inputDidEnd() throws(Failure) -> [Action] {
        Self.translated(try assembler.inputDidEnd(rowCount: nextRow))
    }

    /// Returns a row to the window that ``Action/load(_:)`` asked for.
    package mutating func rowWasLoaded(_ row: Int, _ place: Place, at now: Duration) {
        guard let since = loading.removeValue(forKey: row) else { return }
        add(row, place, since: since, at: now)
    }

    private mutating func didRead(_ row: Int) throws(Failure) {
        guard row == nextRow else { throw .rowOutOfRange(row) }
        nextRow += 1
    }

    private func needsOutcome(_ row: Int) -> Bool {
        !assembler.finishedShards.contains(configuration.assembler.layout.position(of: row).shard)
    }

    private mutating func add(_ row: Int, _ place: Place, since: Duration, at now: Duration) {
        // Rows enter the window in the order in which they were read.
        let waits = spilled[place.host].map { !$0.isEmpty } ?? false
        let isNew = row == nextRow - 1
        let entry = Row(number: row, place: place, since: since)
        if isNew && waits || queue.add(entry, host: place.host, at: now, since: since) != .accepted {
            spill(row, place.host, since)
        }
    }

    private mutating func spill(_ row: Int, _ host: String, _ since: Duration) {
        if spilled[host] == nil { refills.append(host) }
        spilled[host, default: Spill()].append(row, since: since)
    }

    // MARK: Requests

    /// Returns what can be done now, and the time at which to ask again if nothing happens before. Ask again at once
    /// if an action is ``Action/load(_:)``.
    package mutating func next(at now: Duration) throws(Failure) -> (actions: [Action], wakeTime: Duration?) {
        guard !isStopping else { return ([], nil) }
        var actions: [Action] = []
        while true {
            switch queue.next(at: now, hasSlot: running.count < max(1, configuration.maximumRequests)) {
            case .start(let row, let host): try start(row, host, at: now, &actions)
            case .giveUp(let row, let host): try giveUp(row, host, at: now, &actions)
            case .wait(let time):
                refill(&actions)
                return (actions, time)
            }
        }
    }

    /// Records the end of a request for an image.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - outcome: Its outcome, which the caller has recorded.
    ///   - pace: What the response says about the pace of the host.
    ///   - now: The current time.
    package mutating func rowDidFinish(
        _ row: Int, _ outcome: RowOutcome<Token>, pace: HostPacer.Outcome, at now: Duration
    ) throws(Failure) -> [Action] {
        guard let ended = running.removeValue(forKey: row) else { throw .rowOutOfRange(row) }
        queue.requestDidFinish(host: ended.place.host, pace, startedAt: ended.start, at: now)
        return try end(row, outcome)
    }

    /// Records the end of a request for robots.txt.
    package mutating func robotsDidFinish(
        _ outcome: RobotsRecord.Outcome, authority: String, at now: Duration
    ) throws(Failure) -> [Action] {
        var actions: [Action] = []
        for (row, step) in robots?.fetchDidFinish(outcome, authority: authority, at: now) ?? [] {
            try follow(step, row, at: now, &actions)
        }
        return actions
    }

    /// Ends the run: nothing is started any more.
    package mutating func stop() {
        isStopping = true
    }

    private mutating func start(
        _ row: Row, _ host: String, at now: Duration, _ actions: inout [Action]
    ) throws(Failure) {
        guard assembler.admits(row.number) else {
            queue.requestDidFinish(host: host, .notSent, startedAt: now, at: now)
            parked.append(row.number, since: row.since)
            return
        }
        try assembler.rowDidStart(row.number)
        running[row.number] = Running(place: row.place, start: now)
        let step = robots?.step(row: row.number, authority: row.place.authority, path: row.place.path, at: now)
        try follow(step ?? .proceed, row.number, at: now, &actions)
    }

    private mutating func follow(
        _ step: RobotsTable.Step, _ row: Int, at now: Duration, _ actions: inout [Action]
    ) throws(Failure) {
        guard let place = running[row]?.place else { return }
        switch step {
        case .proceed:
            guard !isStopping else { return }
            if let delay = robots?.crawlDelay(authority: place.authority) {
                queue.setCrawlDelay(delay, host: place.host, at: now)
            }
            actions.append(.fetch(row))
        case .fetch: actions.append(.fetchRobots(authority: place.authority))
        case .wait: break
        case .disallowed, .unreachable:
            let start = running.removeValue(forKey: row)?.start ?? now
            queue.requestDidFinish(host: place.host, .notSent, startedAt: start, at: now)
            let file = "\(place.authority)/robots.txt"
            if step == .disallowed {
                return try fail(row, .disallowed, "\(file) disallows the path.", &actions)
            }
            let obstacle = robots?.obstacle(authority: place.authority)
            var name = FailureClass.unreachable.rawValue
            // Usually the error that the image would fail with. It may be lasting.
            if case .error(let error) = obstacle { name = FailureClasses.name(error) }
            let why = obstacle?.message ?? ""
            try fail(
                row, class: name, "\(file) could not be fetched, which disallows every path. \(why)", &actions)
        }
    }

    private mutating func giveUp(
        _ row: Row, _ host: String, at now: Duration, _ actions: inout [Action]
    ) throws(Failure) {
        let message = "\(host) could not serve the URL within \(configuration.queue.patience)."
        try fail(row.number, .impatient, message, &actions)
        while let first = spilled[host]?.first, first.since + configuration.queue.patience <= now {
            try fail(takeSpilled(host).number, .impatient, message, &actions)
        }
    }

    // MARK: Rows outside of the window

    /// Loads spilled rows of hosts that have room, and parked rows that may start now, until the window is full.
    private mutating func refill(_ actions: inout [Action]) {
        var free = configuration.queue.capacity - queue.waiting
        var rest: [String] = []
        for (index, host) in refills.enumerated() {
            guard free > 0 else {
                rest += refills[index...]
                break
            }
            var room = min(free, queue.room(for: host))
            while room > 0, spilled[host] != nil {
                let row = takeSpilled(host)
                load(row.number, since: row.since, &actions)
                room -= 1
                free -= 1
            }
            if spilled[host] != nil { rest.append(host) }
        }
        refills = rest
        unpark(free, &actions)
    }

    private mutating func unpark(_ free: Int, _ actions: inout [Action]) {
        guard let shard = assembler.preferredShard else {
            searchedShard = nil
            var free = free
            while free > 0, let first = parked.first, assembler.admits(first.number) {
                let row = parked.removeFirst()
                load(row.number, since: row.since, &actions)
                free -= 1
            }
            return
        }
        // Only rows of this shard may start. They enter even a full window, which holds none that may.
        guard shard != searchedShard else { return }
        searchedShard = shard
        var rest = Spill()
        for row in parked.waiting {
            if assembler.admits(row.number) {
                load(row.number, since: row.since, &actions)
            } else {
                rest.append(row.number, since: row.since)
            }
        }
        parked = rest
    }

    private mutating func takeSpilled(_ host: String) -> (number: Int, since: Duration) {
        var spill = spilled.removeValue(forKey: host) ?? Spill()
        defer { if !spill.isEmpty { spilled[host] = spill } }
        return spill.removeFirst()
    }

    private mutating func load(_ row: Int, since: Duration, _ actions: inout [Action]) {
        loading[row] = since
        actions.append(.load(row))
    }

    // MARK: Outcomes

    /// Records that a shard has its name on disk.
    package mutating func shardDidAssemble(_ shard: Int) throws(Failure) -> [Action] {
        // A closed shard may admit rows of the oldest open one.
        searchedShard = nil
        return Self.translated(try assembler.shardDidAssemble(shard))
    }

    /// Records that a shard was not assembled, because the staged images of `rows` are lost. They are fetched again.
    package mutating func shardDidLose(_ rows: Set<Int>, shard: Int, at now: Duration) throws(Failure) -> [Action] {
        // A closed shard may admit rows of the oldest open one.
        searchedShard = nil
        let (restarted, next) = try assembler.shardDidLose(rows, shard: shard)
        var actions = Self.translated(next)
        for row in restarted { load(row, since: now, &actions) }
        return actions
    }

    private mutating func fail(
        _ row: Int, _ failure: FailureClass, _ message: String, _ actions: inout [Action]
    ) throws(Failure) {
        try fail(row, class: failure.rawValue, message, &actions)
    }

    private mutating func fail(
        _ row: Int, class name: String, _ message: String, _ actions: inout [Action]
    ) throws(Failure) {
        let outcome = RowOutcome<Token>.failure(class: name, message: message)
        actions.append(.record(row, outcome))
        actions += try end(row, outcome)
    }

    private mutating func end(_ row: Int, _ outcome: RowOutcome<Token>) throws(Failure) -> [Action] {
        Self.translated(try assembler.rowDidEnd(row, outcome))
    }

    // Static: a call on `self` would copy it before the argument changes it, and with it all rows of open shards.
    private static func translated(_ actions: [ShardAssembler<Token>.Action]) -> [Action] {
        actions.map { action in
            switch action {
            case .assemble(let shard, let rows, let outcomes):
                .assemble(shard: shard, rows: rows, outcomes: outcomes)
            case .discard(let shard): .discard(shard: shard)
            }
        }
    }
}
