internal import InflightConcurrency

extension LoopbackServer {
    /// Every request so far, in the order in which they were read.
    public var requests: [RecordedRequest] { core.state.withLock { $0.requests } }

    /// The requests of a path, with any query.
    public func requests(of path: String) -> [RecordedRequest] { requests.filter { $0.path == path } }

    /// How many requests were read in all.
    public var requestCount: Int { core.state.withLock { $0.total.requests } }

    /// How many requests of a path were read.
    public func requestCount(of path: String) -> Int { core.state.withLock { $0.paths[path]?.requests ?? 0 } }

    /// Everything that happened so far, in order.
    public var events: [Event] { core.state.withLock { $0.events } }

    /// How many connections were accepted.
    public var openedConnections: Int { core.state.withLock { $0.openedConnections } }

    /// How many connections are open now.
    public var openConnections: Int { core.state.withLock { $0.connections.count } }

    /// The most connections that were open at once.
    public var maximumOpenConnections: Int { core.state.withLock { $0.maximumOpenConnections } }

    /// Forgets requests and events, but no count: for servers that answer millions of requests.
    public func forgetRecords() {
        _ = takeEvents()
    }

    /// Everything that happened since the records were last forgotten, in order, and forgets them as
    /// ``forgetRecords()`` does: each event is given once.
    public func takeEvents() -> [Event] {
        core.change { state, _ in
            defer {
                state.requests = []
                state.events = []
            }
            return state.events
        }
    }
}
