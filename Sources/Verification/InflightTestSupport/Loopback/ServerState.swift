internal import InflightConcurrency
internal import InflightCore

/// The state of a loopback server: a value that takes events.
///
/// It makes no calls and takes no lock. ``ServerCore`` guards it with a lock.
struct ServerState {
    typealias Server = LoopbackServer

    enum Route: Sendable {
        /// One after the other; the last one is repeated.
        case inOrder([Server.Response])
        case dynamic(@Sendable (Server.RecordedRequest) -> Server.Response)
    }

    struct OpenConnection {
        /// A descriptor that ends any wait of the connection.
        var wake: Int32
        /// The path being served.
        var path: String?
        /// The hold at which the connection waits.
        var hold: String?
        var isReleased = false
    }

    struct PathCounts {
        var requests = 0
        var answered = 0
        var closedByPeer = 0
    }

    var routes: [String: Route] = [:]
    var fallback: (@Sendable (Server.RecordedRequest) -> Server.Response)?
    var requests: [Server.RecordedRequest] = []
    var events: [Server.Event] = []
    var total = PathCounts()
    var paths: [String: PathCounts] = [:]
    var connections: [Int: OpenConnection] = [:]
    var openedConnections = 0
    var maximumOpenConnections = 0
    /// Holds that are open for all, and the number of responses that may still pass the others.
    var openHolds: Set<String> = []
    var permits: [String: Int] = [:]
    /// The connections that wait at a hold, first come, first served.
    var queues: [String: [Int]] = [:]
    var isStopping = false

    // MARK: Connections

    mutating func connectionOpened(wake: Int32, at time: MonotonicTime) -> Int {
        openedConnections += 1
        connections[openedConnections] = OpenConnection(wake: wake)
        maximumOpenConnections = max(maximumOpenConnections, connections.count)
        note(.connectionOpened, openedConnections, at: time)
        return openedConnections
    }

    mutating func connectionClosed(_ connection: Int, byPeer: Bool, at time: MonotonicTime) {
        note(byPeer ? .closedByPeer : .closedByServer, connection, at: time)
        guard let closed = connections.removeValue(forKey: connection) else { return }
        if let hold = closed.hold { queues[hold]?.removeAll { $0 == connection } }
        guard byPeer else { return }
        total.closedByPeer += 1
        if let path = closed.path { paths[path, default: PathCounts()].closedByPeer += 1 }
    }

    // MARK: Exchanges

    mutating func requestReceived(_ request: Server.RecordedRequest, at time: MonotonicTime) -> Answer {
        let path = request.path
        requests.append(request)
        total.requests += 1
        paths[path, default: PathCounts()].requests += 1
        connections[request.connection]?.path = path
        note(.requestReceived, request.connection, at: time)
        // A script for the target with its query takes precedence over one for the path.
        let key = routes[request.target] == nil ? path : request.target
        switch routes[key] {
        case .inOrder(var responses):
            guard responses.count > 1 else { return .response(responses[0]) }
            let first = responses.removeFirst()
            routes[key] = .inOrder(responses)
            return .response(first)
        case .dynamic(let body): return .ask(body)
        case nil: return fallback.map { .ask($0) } ?? .response(.status(404, text: "No such path.\n"))
        }
    }

    enum Answer: Sendable {
        case response(Server.Response)
        /// The test's own code, which must be called without the lock.
        case ask(@Sendable (Server.RecordedRequest) -> Server.Response)
    }

    mutating func answered(_ connection: Int, at time: MonotonicTime) {
        note(.answered, connection, at: time)
        guard let path = connections[connection]?.path else { return }
        connections[connection]?.path = nil
        total.answered += 1
        paths[path, default: PathCounts()].answered += 1
    }

    // MARK: Holds

    /// - Returns: whether the connection may continue at once.
    mutating func holdReached(_ name: String, _ connection: Int, at time: MonotonicTime) -> Bool {
        note(.held(name), connection, at: time)
        if openHolds.contains(name) {
            note(.released(name), connection, at: time)
            return true
        }
        if let count = permits[name], count > 0 {
            permits[name] = count - 1
            note(.released(name), connection, at: time)
            return true
        }
        connections[connection]?.hold = name
        connections[connection]?.isReleased = false
        queues[name, default: []].append(connection)
        return false
    }

    /// Lets all waiting and later responses pass. Returns the descriptors to wake.
    mutating func released(_ name: String, at time: MonotonicTime) -> [Int32] {
        openHolds.insert(name)
        return (queues.removeValue(forKey: name) ?? []).compactMap { resumeHeld($0, name, at: time) }
    }

    /// Lets one response pass, the first that waits or the next to arrive. Returns the descriptor to wake.
    mutating func releasedOne(_ name: String, at time: MonotonicTime) -> Int32? {
        guard let first = queues[name]?.first else {
            permits[name, default: 0] += 1
            return nil
        }
        queues[name]?.removeFirst()
        return resumeHeld(first, name, at: time)
    }

    private mutating func resumeHeld(_ connection: Int, _ name: String, at time: MonotonicTime) -> Int32? {
        guard connections[connection] != nil else { return nil }
        connections[connection]?.hold = nil
        connections[connection]?.isReleased = true
        note(.released(name), connection, at: time)
        return connections[connection]?.wake
    }

    // MARK: Waiting

    func isTrue(_ condition: Server.Condition) -> Bool {
        func counts(_ path: String?) -> PathCounts { path.map { paths[$0] ?? PathCounts() } ?? total }
        return switch condition {
        case .requests(let count, let path): counts(path).requests >= count
        case .answers(let count, let path): counts(path).answered >= count
        case .closedByPeer(let count, let path): counts(path).closedByPeer >= count
        case .held(let name, let count): (queues[name]?.count ?? 0) >= count
        case .openedConnections(let count): openedConnections >= count
        case .openConnections(let count): connections.count == count
        }
    }

    /// The counts and the last events, for the description of a failed wait.
    var summary: String {
        let stopped = isStopping ? "The server was stopped. " : ""
        let seen = paths.sorted { $0.key < $1.key }.map { path, counts in
            "  \(path): \(counts.requests) requests, \(counts.answered) answered, \(counts.closedByPeer) closed by peer"
        }
        let text =
            ["\(stopped)\(openedConnections) connections opened, \(connections.count) open."]
            + seen + ["The last events:"] + events.suffix(20).map { "  \($0)" }
        return text.joined(separator: "\n")
    }

    mutating func note(_ kind: Server.Event.Kind, _ connection: Int, at time: MonotonicTime) {
        let path = connections[connection]?.path
        events.append(Server.Event(kind: kind, connection: connection, path: path, time: time))
    }
}
