internal import Glibc
internal import InflightCore

/// The route to an origin, direct or through a proxy, and the names to resolve for it.
struct Route: Sendable {
    /// The proxy for libcurl; empty for a direct connection.
    var proxy = ""
    /// The proxy's host and port, for messages.
    var proxyName: String?
    /// The ASCII hosts and ports whose addresses libcurl will need.
    var names: [(host: String, port: Int, isLoopback: Bool)] = []
    /// Whether the last of the names is the origin's own.
    var resolvesOrigin = false
    /// The replacement for the start of the URL up to its path, if its host has non-ASCII characters.
    var replacedStart: String?

    /// - Throws: The reason why the origin cannot be reached.
    init(to origin: Origin, through rules: ProxyRules) throws(LoadError) {
        let proxy: ProxyRules.Proxy?
        do {
            proxy = try rules.proxy(for: origin)
        } catch {
            throw LoadError(
                .invalidRequest, stage: .fetch,
                message: "Invalid proxy in the environment variable \(error.variable). Correct or unset it.")
        }
        if let proxy {
            self.proxy = proxy.text
            proxyName = "\(proxy.host):\(proxy.port)"
            try addName(proxy.host, proxy.port)
        }
        let needsAddresses = proxy?.needsAddresses ?? true
        switch HostName(origin.host) {
        case .address: try Self.checkZone(origin.host)
        case .loopback:
            if needsAddresses { names.append((origin.host, origin.port, true)) }
        case .name(let name):
            resolvesOrigin = needsAddresses
            if needsAddresses { names.append((name, origin.port, false)) }
        case .invalid: throw Self.invalidHostName(origin.host)
        }
        if origin.host.utf8.contains(where: { $0 >= 0x80 }) {
            guard let name = HostName.encoded(origin.host) else { throw Self.invalidHostName(origin.host) }
            replacedStart = Self.start(origin.scheme, name, origin.port)
        }
    }

    private mutating func addName(_ host: String, _ port: Int) throws(LoadError) {
        switch HostName(host) {
        case .address: break
        case .loopback: names.append((host, port, true))
        case .name(let name): names.append((name, port, false))
        case .invalid: throw Self.invalidHostName(host)
        }
    }

    /// Returns a URL's beginning as ``ResourceURL`` writes it.
    static func start(_ scheme: String, _ host: String, _ port: Int) -> String {
        let isDefault = (scheme == "http" && port == 80) || (scheme == "https" && port == 443)
        return isDefault ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }

    /// Checks that the zone of an IPv6 address, if any, is a number or an interface. libcurl would connect without
    /// the zone, and not say why that fails.
    private static func checkZone(_ host: String) throws(LoadError) {
        guard let percent = host.utf8.firstIndex(of: UInt8(ascii: "%")) else { return }
        let zone = String(host[percent...].dropFirst("%25".count))
        if UInt32(zone) == nil, unsafe if_nametoindex(zone) == 0 {
            throw LoadError(
                .invalidURL, stage: .fetch,
                message: "This machine has no network interface '\(zone)'. Check the zone behind %25.")
        }
    }

    private static func invalidHostName(_ host: String) -> LoadError {
        LoadError(
            .invalidURL, stage: .fetch,
            message: "Invalid host name '\(Message.cleaned(host))'. Check the spelling.")
    }
}
