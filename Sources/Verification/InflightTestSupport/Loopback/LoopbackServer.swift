internal import Glibc
public import InflightCore

/// An HTTP/1.1 server on loopback for tests. It sends scripted responses and records its requests and events.
///
/// ```swift
/// let server = try LoopbackServer()
/// defer { server.stop() }
/// server.serve("/a.jpg", .ok(image, type: "image/jpeg").held("half", after: 500))
/// let task = pipeline.load(ImageRequest(url: server.url("/a.jpg")), on: .main) { … }
/// try await server.waitUntilHeld("half")
/// task.cancel()
/// try await server.waitUntilClosedByPeer("/a.jpg")
/// ```
///
/// It listens on a port of `127.0.0.1` or `[::1]` that the system chooses. Two servers are two origins. Each connection
/// has its own thread. Every method may be called from any thread, from scripts too. It stops at the latest when it is
/// released. A script that captures its server retains both until ``stop()``.
public final class LoopbackServer: Sendable {
    /// The configuration of a server.
    public struct Configuration: Sendable {
        /// The treatment of a new connection.
        public enum Greeting: Sendable, Hashable {
            /// The connection is served.
            case serve
            /// The connection is accepted, but not a byte is read or written, as in a TLS handshake that stalls.
            case silence
            /// The connection is accepted and closed at once.
            case close
            /// The connection is accepted and reset at once.
            case reset
        }

        /// Whether it listens on `[::1]` instead of `127.0.0.1`.
        public var ipv6 = false
        /// The treatment of every new connection.
        public var greeting = Greeting.serve
        /// The TLS configuration for `https`; if nil, it serves `http`.
        public var tls: TLS?

        /// Creates the default configuration: `http` on `127.0.0.1`.
        public init() {}
    }

    /// The port, chosen by the system.
    public let port: Int
    /// The scheme: `http` or `https`.
    public let scheme: String
    /// The host: `127.0.0.1` or `[::1]`.
    public let host: String
    let core: ServerCore

    /// Starts a server. It accepts connections when this returns.
    ///
    /// - Throws: ``Failure`` if the socket or the server's certificate cannot be created.
    public init(_ configuration: Configuration = Configuration()) throws(Failure) {
        let identity: TLSIdentity? =
            if let tls = configuration.tls { try TLSIdentity(tls.authority, tls.certificate) } else { nil }
        let (listener, port) = try Socket.listen(ipv6: configuration.ipv6, backlog: 1024)
        self.port = port
        scheme = identity == nil ? "http" : "https"
        host = configuration.ipv6 ? "[::1]" : "127.0.0.1"
        core = ServerCore(listener: listener, configuration: configuration, identity: identity)
        core.start()
    }

    deinit {
        core.stop()
    }

    /// Closes everything, ends every wait with a failure, and releases the scripts. Idempotent; returns when the
    /// server's threads have ended.
    public func stop() {
        core.stop()
    }

    /// Returns the URL of a path, such as `http://127.0.0.1:54321/a.jpg`.
    ///
    /// - Parameters:
    ///   - path: the path with its leading slash, and a query if wanted, percent-encoded.
    ///   - host: another name of the loopback address, such as `localhost`. To a client it is another origin. If nil,
    ///     ``host``.
    public func url(_ path: String, host: String? = nil) -> String {
        "\(scheme)://\(host ?? self.host):\(port)\(path)"
    }

    /// Returns ``url(_:host:)`` as the engine's type.
    public func resource(_ path: String, host: String? = nil) throws(LoadError) -> ResourceURL {
        try ResourceURL(url(path, host: host))
    }

    // MARK: Scripts

    /// Responds to a path, with any query, in this way from now on. If `path` has a query, it applies to that query
    /// only, and takes precedence.
    public func serve(_ path: String, _ response: Response) {
        serve(path, inOrder: [response])
    }

    /// Responds to the first request of a path with the first response, and so on. The last one is repeated. An empty
    /// array traps.
    public func serve(_ path: String, inOrder responses: [Response]) {
        precondition(!responses.isEmpty, "give at least one response for \(path)")
        core.change { state, _ in state.routes[path] = .inOrder(responses) }
    }

    /// Responds to a path with the script's result for each request, on the connection's thread, with no lock held.
    public func serve(_ path: String, _ script: @escaping @Sendable (RecordedRequest) -> Response) {
        core.change { state, _ in state.routes[path] = .dynamic(script) }
    }

    /// Responds to every path without its own script; by default with 404.
    public func serveOthers(_ script: @escaping @Sendable (RecordedRequest) -> Response) {
        core.change { state, _ in state.fallback = script }
    }

    /// Lets all responses pass the hold of that name, those that wait there and later ones.
    public func release(_ name: String) {
        core.release(name, all: true)
    }

    /// Lets one response pass the hold of that name: the one that has waited longest, or the next to arrive.
    public func releaseOne(_ name: String) {
        core.release(name, all: false)
    }
}
