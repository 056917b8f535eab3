/// A bounded window of waiting rows, grouped by host. It decides which row starts next.
///
/// - Hosts take turns: of the hosts that may start a request now, the one whose last start is longest ago goes first.
///   Within a host, rows start in the order in which they were added.
/// - Each host has a ``HostPacer``. Neither its limit nor its delay is exceeded.
/// - A row that waits for longer than ``Configuration/patience`` while its host may not start a request is given up. A
///   row of a host that may start one waits only for the caller, so it is kept. Rows that were read far ahead begin to
///   count with ``countPatience(ofRowsBefore:at:)``.
/// - One host occupies at most ``Configuration/hostShare`` of the window. Further rows are deferred: the caller spills
///   them and adds them again when ``room(for:)`` is positive.
///
/// Each operation takes logarithmic time in the number of hosts. A host without rows and requests is remembered while
/// its delay or pause lasts, and ``Configuration/idleHosts`` longer, so memory does not grow with the number of hosts.
///
/// ```swift
/// if queue.add(row, at: now) == .deferred { spill(row) }
/// while case .start(let row) = queue.next(at: now) { start(row) }
/// queue.requestDidFinish(host: host, .served(latency: latency), startedAt: start, at: now)
/// ```
package struct HostQueue: Sendable {
    /// A waiting row.
    package struct Row: Sendable {
        /// The row's number.
        package var number: Int
        /// Where its URL leads.
        package var place: RowPlace
        /// When it was read. Its patience counts from then on, or later.
        package var since: Duration
    }

    /// The bounds of the window.
    package struct Configuration: Sendable {
        /// The maximum number of waiting rows.
        package var capacity = 10_000
        /// The maximum number of waiting rows of one host.
        package var hostShare = 1_000
        /// The time that a row waits for its host before it is given up.
        package var patience: Duration = .seconds(600)
        /// The maximum number of hosts without rows whose learned pace is remembered.
        package var idleHosts = 4_096
        /// The bounds of each host's pace.
        package var pacer = HostPacer.Configuration()

        /// Creates a configuration with defaults.
        package init() {}
    }

    /// Whether a row was added.
    package enum Admission: Hashable, Sendable {
        /// The row waits in the window.
        case accepted
        /// The host has its share of the window. Spill the row, and add it again later.
        case deferred
        /// The window is full. Add the row again when ``HostQueue/wantsRows`` is true.
        case full
    }

    /// What to do next.
    package enum Step {
        /// Start the row's request. It occupies a slot of its host until it finishes.
        case start(Row)
        /// Record the row as a transient failure: its host could not serve it in time. Spilled rows of the same host
        /// have waited behind it, so the caller may treat them alike.
        case giveUp(Row)
        /// Ask again at the given time, or after the next event. If nil, only an event can change the answer.
        case wait(until: Duration?)
    }

    private struct Host {
        var name: String
        var pacer: HostPacer
        var head = -1
        var tail = -1
        var waiting = 0
        /// The number of the host's last start among all starts.
        var turn: UInt64
    }

    private struct Node {
        var row: Row?
        var deadline: Deadline
        var next = -1
    }

    /// A row's deadline. Of rows with the same, the one that was added first expires first.
    private struct Deadline: Comparable {
        var time: Duration
        var sequence: UInt64

        static func < (left: Self, right: Self) -> Bool { (left.time, left.sequence) < (right.time, right.sequence) }
    }

    private let configuration: Configuration
    private var patienceStarts = PatienceStarts()
    /// The number of waiting rows.
    package private(set) var waiting = 0
    /// The number of running requests.
    package private(set) var running = 0
    private var nodes: [Node] = []
    private var freeNode = -1
    private var hosts: [Host] = []
    private var freeHosts: [Int] = []
    private var indices: [String: Int] = [:]
    private var lastTurn: UInt64 = 0
    /// The number of rows that were added.
    private var added: UInt64 = 0
    /// The hosts with rows that may start one, by turn.
    private var ready = HostHeap<UInt64>()
    /// The hosts with rows that may start one later, by that time.
    private var resting = HostHeap<Duration>()
    /// The hosts with rows that may not start one now, by the deadline of their first row.
    private var deadlines = HostHeap<Deadline>()
    /// The hosts without rows and requests, by the time at which they may be forgotten.
    private var idle = HostHeap<Duration>()

    /// Creates an empty window.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Whether the window has room for rows. The reader stops while it has none.
    package var wantsRows: Bool { waiting < configuration.capacity }

    /// The number of hosts that are remembered.
    package var hostCount: Int { indices.count }

    /// Returns how many more rows of the host the window would accept.
    package func room(for host: String) -> Int {
        let own = indices[host].map { hosts[$0].waiting } ?? 0
        return max(0, min(configuration.capacity - waiting, configuration.hostShare - own))
    }

    /// Returns the pace of a host, or nil if the host is not remembered.
    package func pacer(of host: String) -> HostPacer? { indices[host].map { hosts[$0].pacer } }

    /// Adds a row behind the others of its host. It does not expire before those of its host that wait already.
    package mutating func add(_ row: Row, at now: Duration) -> Admission {
        let name = row.place.host
        guard wantsRows else { return .full }
        guard room(for: name) > 0 else { return .deferred }
        let host = hostIndex(name)
        let tail = hosts[host].tail
        added += 1
        let deadline = Deadline(time: row.since + configuration.patience, sequence: added)
        let node = makeNode(Node(row: row, deadline: deadline))
        if tail < 0 { hosts[host].head = node } else { nodes[tail].next = node }
        hosts[host].tail = node
        hosts[host].waiting += 1
        waiting += 1
        refresh(host, at: now)
        return .accepted
    }

    /// Returns the next step. Call it until it returns `wait`.
    ///
    /// - Parameter hasSlot: Whether the caller can start a request. If not, only rows to give up are returned.
    package mutating func next(at now: Duration, hasSlot: Bool = true) -> Step {
        while let first = resting.first, first.key <= now { refresh(first.host, at: now) }
        while let first = deadlines.first, first.key.time <= now {
            let head = hosts[first.host].head
            let deadline = nodes[head].row.map { self.deadline(of: $0.number, since: $0.since, at: now) } ?? now
            if deadline <= now { return .giveUp(takeRow(first.host, at: now)) }
            nodes[head].deadline.time = deadline
            refresh(first.host, at: now)
        }
        if hasSlot, let first = ready.first {
            lastTurn += 1
            running += 1
            hosts[first.host].turn = lastTurn
            hosts[first.host].pacer.requestDidStart(at: now)
            return .start(takeRow(first.host, at: now))
        }
        let times = [hasSlot ? resting.first?.key : nil, deadlines.first?.key.time]
        return .wait(until: times.compactMap { $0 }.min())
    }

    /// Lets the patience of rows with lower numbers count from now on, unless it does already. Before the first call,
    /// it counts for all rows since they were read.
    package mutating func countPatience(ofRowsBefore end: Int, at now: Duration) {
        patienceStarts.extend(to: end, at: now)
    }

    /// Returns the time at which a row's patience ends, or a time before that if it does not count yet.
    func deadline(of row: Int, since: Duration, at now: Duration) -> Duration {
        (patienceStarts.start(of: row, readAt: since) ?? now) + configuration.patience
    }

    /// Records the end of a request that ``next(at:hasSlot:)`` started.
    ///
    /// - Parameters:
    ///   - start: The time that was given to ``next(at:hasSlot:)``.
    ///   - now: The current time.
    package mutating func requestDidFinish(
        host name: String, _ outcome: HostPacer.Outcome, startedAt start: Duration, at now: Duration
    ) {
        guard let host = indices[name], hosts[host].pacer.running > 0 else { return }
        running -= 1
        hosts[host].pacer.requestDidFinish(outcome, startedAt: start, at: now)
        refresh(host, at: now)
    }

    /// Sets a host's `Crawl-delay`. No effect if the host has no rows and requests. Call it for each row, or after each
    /// fetch of robots.txt, because the host may have been forgotten since.
    package mutating func setCrawlDelay(_ delay: Duration?, host name: String, at now: Duration) {
        guard let host = indices[name] else { return }
        hosts[host].pacer.setCrawlDelay(delay)
        refresh(host, at: now)
    }

    // MARK: Hosts

    /// Puts the host into the heaps that its state requires.
    private mutating func refresh(_ host: Int, at now: Duration) {
        let next = hosts[host].pacer.nextStart
        let hasRows = hosts[host].waiting > 0
        let isReady = hasRows && next.map { $0 <= now } == true
        ready.set(isReady ? hosts[host].turn : nil, of: host)
        resting.set(hasRows && !isReady ? next : nil, of: host)
        deadlines.set(hasRows && !isReady ? nodes[hosts[host].head].deadline : nil, of: host)
        let isIdle = !hasRows && hosts[host].pacer.running == 0
        idle.set(isIdle ? hosts[host].pacer.restsUntil : nil, of: host)
        if isIdle { forgetHosts(besides: host, at: now) }
    }

    /// Forgets the host if nothing is lost, and others if there are too many.
    private mutating func forgetHosts(besides host: Int, at now: Duration) {
        if hosts[host].pacer.isInitial, hosts[host].pacer.restsUntil <= now { forget(host) }
        while idle.count > configuration.idleHosts, let first = idle.first, first.key <= now { forget(first.host) }
    }

    private mutating func forget(_ host: Int) {
        idle.set(nil, of: host)
        indices[hosts[host].name] = nil
        freeHosts.append(host)
    }

    private mutating func hostIndex(_ name: String) -> Int {
        if let host = indices[name] { return host }
        // A new host takes its turn behind the hosts that wait already.
        lastTurn += 1
        let host = Host(name: name, pacer: HostPacer(configuration.pacer), turn: lastTurn)
        let index = freeHosts.popLast() ?? hosts.count
        if index == hosts.count { hosts.append(host) } else { hosts[index] = host }
        indices[name] = index
        return index
    }

    // MARK: Rows

    /// Removes the first row of a host that has one.
    private mutating func takeRow(_ host: Int, at now: Duration) -> Row {
        let node = hosts[host].head
        guard let row = nodes[node].row else { preconditionFailure("a node in a list has a row") }
        hosts[host].head = nodes[node].next
        if hosts[host].head < 0 { hosts[host].tail = -1 }
        hosts[host].waiting -= 1
        waiting -= 1
        nodes[node].row = nil
        nodes[node].next = freeNode
        freeNode = node
        refresh(host, at: now)
        return row
    }

    private mutating func makeNode(_ node: Node) -> Int {
        guard freeNode >= 0 else {
            nodes.append(node)
            return nodes.count - 1
        }
        let index = freeNode
        freeNode = nodes[index].next
        nodes[index] = node
        return index
    }
}

/// A minimum heap of hosts by key, in which each host is at most once, and can be moved and removed.
///
/// Insertion, change and removal take logarithmic time in the number of hosts. Hosts are small numbers.
private struct HostHeap<Key: Comparable & Sendable>: Sendable {
    private var entries: [(key: Key, host: Int)] = []
    /// The place of each host in `entries`, or -1.
    private var places: [Int] = []

    /// The host with the least key, if any.
    var first: (key: Key, host: Int)? { entries.first }
    /// The number of hosts.
    var count: Int { entries.count }

    /// Inserts a host, changes its key, or removes it if `key` is nil.
    mutating func set(_ key: Key?, of host: Int) {
        while places.count <= host { places.append(-1) }
        let place = places[host]
        switch (key, place) {
        case (nil, -1): break
        case (nil, _): remove(at: place)
        case (let key?, -1):
            entries.append((key, host))
            places[host] = entries.count - 1
            siftUp(entries.count - 1)
        case (let key?, _):
            guard entries[place].key != key else { return }
            entries[place].key = key
            siftDown(place)
            siftUp(place)
        }
    }

    private mutating func remove(at place: Int) {
        places[entries[place].host] = -1
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.host] = place
        siftDown(place)
        siftUp(place)
    }

    private mutating func siftUp(_ start: Int) {
        var place = start
        while place > 0, entries[place].key < entries[(place - 1) / 2].key {
            exchange(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var place = start
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < entries.count && entries[child].key < entries[least].key {
                least = child
            }
            guard least != place else { return }
            exchange(place, least)
            place = least
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        entries.swapAt(left, right)
        places[entries[left].host] = left
        places[entries[right].host] = right
    }
}
