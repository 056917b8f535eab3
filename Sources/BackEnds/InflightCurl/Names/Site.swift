internal import InflightCore

/// What the event loop knows of one origin that exchanges are under way with.
final class Site {
    let origin: Origin
    let route: Route
    /// Whose addresses have to be known before libcurl can connect.
    let endpoints: [Endpoint]
    /// Exchanges that have not ended.
    var active = 0
    /// Those of them whose request goes, or went, over a connection.
    var connected = 0
    /// When one of them was connected last: until then, others may have waited for their turn.
    var busyUntil: Int64 = 0
    var reuse = ConnectionReuse()
    /// The origin refused HTTP/2 (RFC 9113 section 7, HTTP_1_1_REQUIRED).
    var requiresHTTP1 = false

    init(origin: Origin, route: Route, endpoints: [Endpoint]) {
        self.origin = origin
        self.route = route
        self.endpoints = endpoints
    }

    /// The address of the origin that `policy` refuses, where a proxy connects to it: a literal one, or one of those
    /// that a SOCKS proxy is given. Direct connections are judged when they are opened.
    func refusedBehindProxy(by policy: AddressPolicy) -> String? {
        guard !route.proxy.isEmpty else { return nil }
        let addresses =
            switch HostName(origin.host) {
            case .address: [HostName.encoded(origin.host) ?? origin.host]
            case .loopback: ["127.0.0.1"]
            case .name, .invalid: route.resolvesOrigin ? endpoints.last?.addresses ?? [] : []
            }
        return addresses.first { !policy.allows(ifKnown: SocketAddress.parse($0)) }
    }

    /// The URL as libcurl takes it.
    func text(of url: ResourceURL) -> String {
        guard let start = route.replacedStart else { return url.string }
        let replaced = Route.start(origin.scheme, origin.host, origin.port)
        return start + String(Substring(url.string.utf8.dropFirst(replaced.utf8.count)))
    }
}
