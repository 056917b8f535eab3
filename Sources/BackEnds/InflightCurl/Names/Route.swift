internal import InflightCore

/// How an origin is reached: directly or through a proxy, and which names have to be resolved for it.
struct Route: Sendable {
    /// For libcurl; empty: directly.
    var proxy = ""
    /// The proxy's host and port, for messages.
    var proxyName: String?
    /// Hosts in ASCII, with their ports, whose addresses libcurl will ask for.
    var names: [(host: String, port: Int, isLoopback: Bool)] = []
    /// Whether the last of them is the origin's own.
    var resolvesOrigin = false
    /// What stands instead of the URL's beginning up to its path, where that is not fit for libcurl.
    var replacedStart: String?

    /// - Throws: what makes it impossible.
    init(to origin: Origin, through rules: ProxyRules) throws(LoadError) {
        let proxy: ProxyRules.Proxy?
        do {
            proxy = try rules.proxy(for: origin)
        } catch {
            throw LoadError(
                .invalidRequest, stage: .fetch,
                message: "The variable \(error.variable) names no proxy that can be used. Correct it, or unset it.")
        }
        if let proxy {
            self.proxy = proxy.text
            proxyName = "\(proxy.host):\(proxy.port)"
            try addName(proxy.host, proxy.port)
        }
        let needsAddresses = proxy?.needsAddresses ?? true
        switch HostName(origin.host) {
        case .address: break
        case .loopback:
            if needsAddresses { names.append((origin.host, origin.port, true)) }
        case .name(let name):
            resolvesOrigin = needsAddresses
            if needsAddresses { names.append((name, origin.port, false)) }
        case .invalid: throw Self.noName(origin.host)
        }
        if origin.host.utf8.contains(where: { $0 >= 0x80 }) {
            guard let name = HostName.encoded(origin.host) else { throw Self.noName(origin.host) }
            replacedStart = Self.start(origin.scheme, name, origin.port)
        }
    }

    private mutating func addName(_ host: String, _ port: Int) throws(LoadError) {
        switch HostName(host) {
        case .address: break
        case .loopback: names.append((host, port, true))
        case .name(let name): names.append((name, port, false))
        case .invalid: throw Self.noName(host)
        }
    }

    /// A URL's beginning as ``ResourceURL`` writes it.
    static func start(_ scheme: String, _ host: String, _ port: Int) -> String {
        let isDefault = (scheme == "http" && port == 80) || (scheme == "https" && port == 443)
        return isDefault ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }

    private static func noName(_ host: String) -> LoadError {
        LoadError(
            .invalidURL, stage: .fetch,
            message: "\(Message.cleaned(host)) is no name that a host can have. Check how it is written.")
    }
}
