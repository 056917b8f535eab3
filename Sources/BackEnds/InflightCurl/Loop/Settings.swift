internal import Glibc
internal import InflightCore
internal import InflightImages

/// A validated configuration, for the event loop.
struct Settings: Sendable {
    let caFile: String?
    /// By host, or host and port.
    private let clientCertificates: [String: CurlTransport.ClientCertificate]
    /// In the form of `CURLOPT_PINNEDPUBLICKEY`, by host, or host and port.
    private let pinnedKeys: [String: String]
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
        if let path = configuration.caFile { try PEMFile.authorities.check(path) }
        caFile = configuration.caFile
        clientCertificates = try Self.byServer(configuration.clientCertificates) {
            (certificate) throws(LoadError) in
            try PEMFile.clientCertificate.check(certificate.file)
            try PEMFile.clientKey.check(certificate.keyFile ?? certificate.file)
            return certificate
        }
        pinnedKeys = try Self.byServer(configuration.pinnedPublicKeys) { (keys) throws(LoadError) in
            guard !keys.isEmpty, keys.allSatisfy({ Base64.decoded(Array($0.utf8))?.count == 32 }) else {
                throw LoadError(
                    .invalidRequest, stage: .request,
                    message: "Invalid pinned public key. Specify SHA-256 digests in base64, of 44 characters.")
            }
            return keys.map { "sha256//\($0)" }.joined(separator: ";")
        }
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

    func clientCertificate(for origin: Origin) -> CurlTransport.ClientCertificate? {
        clientCertificates["\(origin.host):\(origin.port)"] ?? clientCertificates[origin.host]
    }

    func pinnedKeys(of origin: Origin) -> String? {
        pinnedKeys["\(origin.host):\(origin.port)"] ?? pinnedKeys[origin.host]
    }

    /// Writes hosts as origins have them.
    private static func byServer<Value, Result>(
        _ values: [String: Value], _ checked: (Value) throws(LoadError) -> Result
    ) throws(LoadError) -> [String: Result] {
        var result: [String: Result] = [:]
        for (name, value) in values {
            // A name that never matched would leave a server without its pins.
            let isPlain = !name.contains { "/@?#\\".contains($0) }
            guard isPlain, let origin = (try? ResourceURL("https://\(name)/"))?.origin else {
                throw LoadError(
                    .invalidRequest, stage: .request,
                    message: "Invalid server \(Message.cleaned(name)). Specify a host, or a host and a port.")
            }
            let hasPort = name.hasSuffix(":\(origin.port)")
            result[hasPort ? "\(origin.host):\(origin.port)" : origin.host] = try checked(value)
        }
        return result
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
