internal import InflightCore

/// The event loop's state of one origin with exchanges.
final class Site {
    let origin: Origin
    let route: Route
    /// The endpoints whose addresses must be known before libcurl can connect.
    let endpoints: [Endpoint]
    let clientCertificate: CurlTransport.ClientCertificate?
    /// In the form of `CURLOPT_PINNEDPUBLICKEY`.
    let pinnedKeys: String?
    /// The number of exchanges that have not ended.
    var active = 0
    /// The number of active exchanges whose request is being sent, or was sent, on a connection.
    var connected = 0
    /// The last time at which an exchange was connected. Until then, others may have waited for a connection.
    var busyUntil: Int64 = 0
    var reuse = ConnectionReuse()
    var streams = StreamWindow()
    /// The number of exchanges that libcurl has.
    var handed = 0
    /// The exchanges that wait until libcurl may have more.
    var waiting: [Exchange] = []
    /// Whether the latest response came over HTTP/1.
    var speaksHTTP1 = false
    /// Whether the origin refused HTTP/2 (RFC 9113 section 7, HTTP_1_1_REQUIRED).
    var requiresHTTP1 = false

    init(
        origin: Origin, route: Route, endpoints: [Endpoint],
        clientCertificate: CurlTransport.ClientCertificate? = nil, pinnedKeys: String? = nil
    ) {
        self.origin = origin
        self.route = route
        self.endpoints = endpoints
        self.clientCertificate = clientCertificate
        self.pinnedKeys = pinnedKeys
    }

    /// Returns the origin's address that `policy` refuses if a proxy connects to it: a literal one, or one of those
    /// given to a SOCKS proxy. Direct connections are checked when they are opened.
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

    /// Returns the URL for libcurl.
    func text(of url: ResourceURL) -> String {
        guard let start = route.replacedStart else { return url.string }
        let replaced = Route.start(origin.scheme, origin.host, origin.port)
        return start + String(Substring(url.string.utf8.dropFirst(replaced.utf8.count)))
    }
}
