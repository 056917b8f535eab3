internal import InflightCore

/// A configuration that was checked: what the event loop works with.
struct Settings: Sendable {
    let caFile: String?
    let maximumConnectionsPerOrigin: Int
    let maximumStreamsPerConnection: Int
    let maximumIdleConnections: Int
    let dnsServers: String?
    let userAgent: String

    init(_ configuration: CurlTransport.Configuration) throws(LoadError) {
        for (name, value) in [
            ("maximumConnectionsPerOrigin", configuration.maximumConnectionsPerOrigin),
            ("maximumStreamsPerConnection", configuration.maximumStreamsPerConnection),
            ("maximumIdleConnections", configuration.maximumIdleConnections),
        ] where !(1...1_000_000).contains(value) {
            throw LoadError(
                .invalidRequest, stage: .request, message: "\(name) is \(value); give a number from 1 to 1,000,000.")
        }
        if let path = configuration.caFile { try CAFile.check(path) }
        caFile = configuration.caFile
        maximumConnectionsPerOrigin = configuration.maximumConnectionsPerOrigin
        maximumStreamsPerConnection = configuration.maximumStreamsPerConnection
        maximumIdleConnections = configuration.maximumIdleConnections
        dnsServers = configuration.dnsServers.isEmpty ? nil : configuration.dnsServers.joined(separator: ",")
        userAgent = configuration.userAgent
    }
}
