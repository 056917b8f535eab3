public import InflightCore

extension CurlTransport {
    /// How a ``CurlTransport`` connects.
    public struct Configuration: Sendable {
        /// A file of PEM certificates to trust instead of the system's. `nil`: the system's.
        public var caFile: String?
        /// How many connections one origin may have. Exchanges beyond that wait. On HTTP/2, where one connection
        /// carries many exchanges, another is opened only when the first has no stream left.
        public var maximumConnectionsPerOrigin = 6
        /// How many exchanges one HTTP/2 connection may carry at once, where the server allows that many.
        public var maximumStreamsPerConnection = 64
        /// How many idle connections are kept open, of all origins together.
        public var maximumIdleConnections = 64
        /// Whether `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the environment are obeyed. They are read
        /// once, when the transport is made.
        public var usesEnvironmentProxies = true
        /// The DNS servers to ask, as `address` or `address:port`, instead of the system's. Empty: the system's.
        public var dnsServers: [String] = []
        /// The addresses that connections may be opened to. A load that needs another fails with
        /// ``LoadError/Code/addressNotAllowed``.
        public var addressPolicy = AddressPolicy.any
        /// Sent as `User-Agent` where a request has none.
        public var userAgent = "inflight/\(CurlTransport.version)"

        public init() {}
    }

    /// The version of Inflight that the default `User-Agent` tells.
    public static let version = "0.1.0"
}
