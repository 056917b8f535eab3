internal import InflightConcurrency

extension LoopbackServer {
    /// All requests so far, in the order in which they were read.
    public var requests: [RecordedRequest] { core.state.withLock { $0.requests } }

    /// Returns the requests of a path, with any query.
    public func requests(of path: String) -> [RecordedRequest] { requests.filter { $0.path == path } }

    /// The number of requests read.
    public var requestCount: Int { core.state.withLock { $0.total.requests } }

    /// Returns the number of requests of a path that were read.
    public func requestCount(of path: String) -> Int { core.state.withLock { $0.paths[path]?.requests ?? 0 } }

    /// All events so far, in order.
    public var events: [Event] { core.state.withLock { $0.events } }

    /// The number of connections accepted.
    public var openedConnections: Int { core.state.withLock { $0.openedConnections } }

    /// The number of connections that are open now.
    public var openConnections: Int { core.state.withLock { $0.connections.count } }

    /// The maximum number of connections that were open at once.
    public var maximumOpenConnections: Int { core.state.withLock { $0.maximumOpenConnections } }

    /// Removes the recorded requests and events, but no count, for servers of millions of requests.
    public func forgetRecords() {
        _ = takeEvents()
    }

    /// Returns the events since the records were last removed, in order, and removes them as ``forgetRecords()`` does.
    /// Each event is returned once.
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
