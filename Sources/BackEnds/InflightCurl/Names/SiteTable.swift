internal import InflightCore

/// The sites of origins and the addresses of their hosts, bounded. Confined to the event loop's thread.
struct SiteTable: ~Copyable {
    private static let maximumSites = 1024
    private static let minimumTTL: Int64 = 1_000_000_000
    private static let maximumTTL: Int64 = 60_000_000_000
    /// How long, in nanoseconds, stale addresses remain in use after their lookup failed.
    private static let renewalDelay: Int64 = 5_000_000_000

    private let settings: Settings
    private var sites: [Origin: Site] = [:]
    private var latest: Site?
    private var endpoints: [String: Endpoint] = [:]
    private var siteLimit = SiteTable.maximumSites
    /// Entries that remove addresses from libcurl.
    private var removals: [String] = []

    init(settings: Settings) {
        self.settings = settings
    }

    mutating func site(for origin: Origin) throws(LoadError) -> Site {
        // Consecutive exchanges are mostly with the same origin.
        if let latest, latest.origin == origin { return latest }
        if let site = sites[origin] {
            latest = site
            return site
        }
        let route = try Route(to: origin, through: settings.proxies)
        if sites.count >= siteLimit { evictIdleSites() }
        var own: [Endpoint] = []
        for name in route.names {
            let key = Endpoint.key(name.host, name.port)
            let endpoint = endpoints[key] ?? Endpoint(host: name.host, port: name.port)
            endpoints[key] = endpoint
            endpoint.sites += 1
            // IPv4 first, since most local servers listen only there.
            if name.isLoopback { endpoint.found(["127.0.0.1", "::1"], freshUntil: .max) }
            own.append(endpoint)
        }
        let site = Site(
            origin: origin, route: route, endpoints: own, clientCertificate: settings.clientCertificate(for: origin),
            pinnedKeys: settings.pinnedKeys(of: origin))
        sites[origin] = site
        return site
    }

    /// Returns the `CURLOPT_RESOLVE` entries that libcurl needs with the next transfer to `site`, before it connects.
    mutating func takeEntries(for site: Site) -> [String] {
        var entries: [String] = []
        for endpoint in site.endpoints {
            if let entry = endpoint.takeEntry() { entries.append(entry) }
        }
        if entries.isEmpty { return [] }
        defer { removals = [] }
        return removals + entries
    }

    /// Records the outcome of a lookup.
    /// - Returns: The exchanges that waited for it, with the reason if they cannot proceed.
    mutating func didResolve(
        _ host: String, _ outcome: Resolver.Outcome, at now: Int64
    ) -> [(exchange: Exchange, problem: String?)] {
        var waiting: [(exchange: Exchange, problem: String?)] = []
        for endpoint in endpoints.values where endpoint.host == host && endpoint.isBeingLookedUp {
            endpoint.isBeingLookedUp = false
            var problem: String?
            switch outcome {
            case .found(let addresses, let seconds):
                let life = min(max(Int64(clamping: seconds) &* 1_000_000_000, Self.minimumTTL), Self.maximumTTL)
                endpoint.found(addresses, freshUntil: now + life)
            case .notFound(let why): problem = why
            case .failed(let why):
                // Recent addresses are better than none.
                if endpoint.isInstalled { endpoint.freshUntil = now + Self.renewalDelay } else { problem = why }
            }
            waiting += endpoint.waiters.map { ($0, problem) }
            endpoint.waiters = []
        }
        return waiting
    }

    private mutating func evictIdleSites() {
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
        // Twice the number in use, so that the cost of searching them per new site stays low.
        siteLimit = max(Self.maximumSites, sites.count * 2)
    }
}
