internal import Glibc
internal import InflightCore

/// A validated configuration, for the event loop.
struct Settings: Sendable {
    let caFile: String?
    let maximumConnectionsPerOrigin: Int
    let maximumStreamsPerConnection: Int
    let maximumIdleConnections: Int
    let dnsServers: String?
    let userAgent: String
    let addressPolicy: AddressPolicy
    var proxies: ProxyRules

    /// - Parameter environment: The proxy variables; if nil, those of the process.
    init(_ configuration: CurlTransport.Configuration, environment: [String: String]? = nil) throws(LoadError) {
        for (name, value) in [
            ("maximumConnectionsPerOrigin", configuration.maximumConnectionsPerOrigin),
            ("maximumStreamsPerConnection", configuration.maximumStreamsPerConnection),
            ("maximumIdleConnections", configuration.maximumIdleConnections),
        ] where !(1...1_000_000).contains(value) {
            throw LoadError(
                .invalidRequest, stage: .request,
                message: "Invalid \(name): \(value). Use a number from 1 to 1,000,000.")
        }
        if let path = configuration.caFile { try CAFile.check(path) }
        caFile = configuration.caFile
        maximumConnectionsPerOrigin = configuration.maximumConnectionsPerOrigin
        maximumStreamsPerConnection = configuration.maximumStreamsPerConnection
        maximumIdleConnections = configuration.maximumIdleConnections
        dnsServers = configuration.dnsServers.isEmpty ? nil : configuration.dnsServers.joined(separator: ",")
        guard RequestRules.isValue(configuration.userAgent.utf8) else {
            throw LoadError(
                .invalidRequest, stage: .request,
                message: "Invalid userAgent: it contains a control character. Use printable characters.")
        }
        userAgent = configuration.userAgent
        addressPolicy = configuration.addressPolicy
        let variables = environment ?? Self.proxyVariables()
        proxies = configuration.usesEnvironmentProxies ? ProxyRules(environment: variables) : .none
    }

    private static func proxyVariables() -> [String: String] {
        var variables: [String: String] = [:]
        for name in [
            "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        ] {
            if let value = unsafe getenv(name) { variables[name] = unsafe String(cString: value) }
        }
        return variables
    }
}
