internal import Glibc
public import InflightCore

/// An HTTP/1.1 server on loopback, made for tests: it answers what it is told, and tells what it saw.
///
/// ```swift
/// let server = try LoopbackServer()
/// defer { server.stop() }
/// server.serve("/a.jpg", .ok(picture, type: "image/jpeg").held("half", after: 500))
/// let task = pipeline.load(ImageRequest(url: server.url("/a.jpg")), on: .main) { … }
/// try await server.waitUntilHeld("half")
/// task.cancel()
/// try await server.waitUntilClosedByPeer("/a.jpg")
/// ```
///
/// It listens on a port of `127.0.0.1` or `[::1]` that the system chooses; two servers are two origins. Each connection
/// has a thread of its own. Every method may be called from any thread, from scripts too. It stops when it is released,
/// at the latest; a script that captures its server keeps both until ``stop()``.
public final class LoopbackServer: Sendable {
    public struct Configuration: Sendable {
        /// What happens to a new connection.
        public enum Greeting: Sendable, Hashable {
            case serve
            /// It is accepted, and not a byte is read or written: a TLS handshake that stalls.
            case silence
            case close
            case reset
        }

        /// Listens on `[::1]` in place of `127.0.0.1`.
        public var ipv6 = false
        public var greeting = Greeting.serve
        /// Serves `https`; without it, `http`.
        public var tls: TLS?

        public init() {}
    }

    public let port: Int
    /// `http` or `https`.
    public let scheme: String
    /// `127.0.0.1`, or `[::1]`.
    public let host: String
    let core: ServerCore

    /// Starts a server: it accepts connections when this returns.
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

    /// Closes everything, ends every wait with a failure, and lets go of the scripts. Idempotent; returns when the
    /// server's threads have ended.
    public func stop() {
        core.stop()
    }

    /// The URL of a path, such as `http://127.0.0.1:54321/a.jpg`.
    /// - Parameter host: another name of the loopback address, such as `localhost`: another origin to a client.
    public func url(_ path: String, host: String? = nil) -> String {
        "\(scheme)://\(host ?? self.host):\(port)\(path)"
    }

    /// ``url(_:host:)`` as the engine's type.
    public func resource(_ path: String, host: String? = nil) throws(LoadError) -> ResourceURL {
        try ResourceURL(url(path, host: host))
    }

    // MARK: Scripts

    /// Answers a path, with any query, in this way from now on. A path with a query is for that query alone.
    public func serve(_ path: String, _ response: Response) {
        serve(path, inOrder: [response])
    }

    /// Answers the first request of a path with the first response, and so on; the last one stays.
    public func serve(_ path: String, inOrder responses: [Response]) {
        precondition(!responses.isEmpty, "give at least one response for \(path)")
        core.change { state, _ in state.routes[path] = .inOrder(responses) }
    }

    /// Answers a path with what `script` makes of each request, on the connection's thread, with no lock held.
    public func serve(_ path: String, _ script: @escaping @Sendable (RecordedRequest) -> Response) {
        core.change { state, _ in state.routes[path] = .dynamic(script) }
    }

    /// Answers every path that has no script of its own; without this, with 404.
    public func serveOthers(_ script: @escaping @Sendable (RecordedRequest) -> Response) {
        core.change { state, _ in state.fallback = script }
    }

    /// Lets all answers pass the hold of that name: those that wait there, and those that will come.
    public func release(_ name: String) {
        core.release(name, all: true)
    }

    /// Lets one answer pass the hold of that name: the one that has waited longest, or the next that comes.
    public func releaseOne(_ name: String) {
        core.release(name, all: false)
    }
}
