internal import InflightCore

/// The origins that exchanges are made with, and the addresses of their hosts: bounded, and confined to the event
/// loop's thread.
struct AddressBook: ~Copyable {
    private static let maximumSites = 1024
    private static let shortestLife: Int64 = 1_000_000_000
    private static let longestLife: Int64 = 60_000_000_000
    /// How long addresses serve on whose renewal failed.
    private static let renewalDelay: Int64 = 5_000_000_000

    private let rules: ProxyRules
    private var sites: [Origin: Site] = [:]
    private var latest: Site?
    private var endpoints: [String: Endpoint] = [:]
    private var roomForSites = AddressBook.maximumSites
    /// What libcurl has to forget.
    private var removals: [String] = []

    init(rules: ProxyRules) {
        self.rules = rules
    }

    mutating func site(for origin: Origin) throws(LoadError) -> Site {
        // Mostly one after the other to the same origin.
        if let latest, latest.origin == origin { return latest }
        if let site = sites[origin] {
            latest = site
            return site
        }
        let route = try Route(to: origin, through: rules)
        if sites.count >= roomForSites { forgetIdleSites() }
        var own: [Endpoint] = []
        for name in route.names {
            let key = Endpoint.key(name.host, name.port)
            let endpoint = endpoints[key] ?? Endpoint(host: name.host, port: name.port)
            endpoints[key] = endpoint
            endpoint.sites += 1
            // IPv4 first: most local servers listen there alone.
            if name.isLoopback { endpoint.found(["127.0.0.1", "::1"], freshUntil: .max) }
            own.append(endpoint)
        }
        let site = Site(origin: origin, route: route, endpoints: own)
        sites[origin] = site
        return site
    }

    /// What libcurl has to be told together with a transfer to `site`, before it connects.
    mutating func takeEntries(for site: Site) -> [String] {
        var entries: [String] = []
        for endpoint in site.endpoints {
            if let entry = endpoint.takeEntry() { entries.append(entry) }
        }
        if entries.isEmpty { return [] }
        defer { removals = [] }
        return removals + entries
    }

    /// Notes an answer.
    /// - Returns: those who waited for it, and why they cannot go on, if they cannot.
    mutating func didResolve(
        _ host: String, _ outcome: Resolver.Outcome, at now: Int64
    ) -> [(exchange: Exchange, problem: String?)] {
        var waiting: [(exchange: Exchange, problem: String?)] = []
        for endpoint in endpoints.values where endpoint.host == host && endpoint.isBeingLookedUp {
            endpoint.isBeingLookedUp = false
            var problem: String?
            switch outcome {
            case .found(let addresses, let seconds):
                let life = min(max(Int64(clamping: seconds) &* 1_000_000_000, Self.shortestLife), Self.longestLife)
                endpoint.found(addresses, freshUntil: now + life)
            case .notFound(let why): problem = why
            case .failed(let why):
                // Better the addresses that were good a moment ago than none.
                if endpoint.isInstalled { endpoint.freshUntil = now + Self.renewalDelay } else { problem = why }
            }
            waiting += endpoint.waiters.map { ($0, problem) }
            endpoint.waiters = []
        }
        return waiting
    }

    private mutating func forgetIdleSites() {
        latest = nil
        for (origin, site) in sites where site.active == 0 {
            sites[origin] = nil
            for endpoint in site.endpoints {
                endpoint.sites -= 1
                guard endpoint.sites == 0, !endpoint.isBeingLookedUp else { continue }
                endpoints[endpoint.key] = nil
                if endpoint.isInstalled { removals.append("-\(endpoint.key)") }
            }
        }
        // Twice what is in use, so that looking through them costs little for each new one.
        roomForSites = max(Self.maximumSites, sites.count * 2)
    }
}
