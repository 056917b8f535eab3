public import InflightCore

extension CurlTransport {
    /// The connection settings of a ``CurlTransport``.
    public struct Configuration: Sendable {
        /// The path of a file of PEM certificates to trust instead of the system's. If nil, the system's are trusted.
        public var caFile: String?
        /// The certificates that authenticate this client, by host (`api.example.org`) or host and port
        /// (`api.example.org:8443`), which is preferred. No other host gets them, also after a redirect. Loads of one
        /// URL share caches whatever the certificate was, so pipelines with different ones need caches of their own.
        public var clientCertificates: [String: ClientCertificate] = [:]
        /// The public keys of servers, by host or host and port, as in ``clientCertificates``: the SHA-256 of the
        /// certificate's `SubjectPublicKeyInfo` in base64 (RFC 7469 section 2.4). A server of such a host that has none
        /// of these keys gets no request, and the load fails with ``LoadError/Code/untrusted``. Its certificate must be
        /// trusted, too.
        public var pinnedPublicKeys: [String: [String]] = [:]
        /// The maximum number of connections per origin, from 1 to 1,000,000. Exchanges beyond that wait. On HTTP/2,
        /// where one connection carries many exchanges, another is opened only when the first has no stream left.
        public var maximumConnectionsPerOrigin = 6
        /// The maximum number of concurrent exchanges on one HTTP/2 connection, if the server allows that many; from 1
        /// to 1,000,000.
        public var maximumStreamsPerConnection = 64
        /// The maximum number of idle connections, over all origins; from 1 to 1,000,000.
        public var maximumIdleConnections = 64
        /// Whether to use `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` of the environment. They are read
        /// once, when the transport is created.
        public var usesEnvironmentProxies = true
        /// The DNS servers, as `address` or `address:port`. If empty, the system's are used.
        public var dnsServers: [String] = []
        /// The addresses to which connections may be opened. A load that needs another one fails with
        /// ``LoadError/Code/addressNotAllowed``.
        public var addressPolicy = AddressPolicy.any
        /// The `User-Agent` of requests that have none.
        public var userAgent = "inflight/\(CurlTransport.version)"

        /// Creates the default configuration. It is checked when a transport is created.
        public init() {}
    }

    /// A certificate that authenticates the client to a server, with its private key.
    public struct ClientCertificate: Hashable, Sendable {
        /// The path of a PEM file with the certificate, followed by intermediate ones.
        public var file: String
        /// The path of a PEM file with the private key. If nil, it is in ``file``.
        public var keyFile: String?
        /// The password of the private key, nil if it is not encrypted.
        public var password: String?

        /// Creates a client certificate. The files are read when a transport is created, and for each connection.
        public init(file: String, keyFile: String? = nil, password: String? = nil) {
            self.file = file
            self.keyFile = keyFile
            self.password = password
        }
    }

    /// The version of Inflight in the default `User-Agent`. Equal to the newest version of `CHANGELOG.md`.
    public static let version = "0.1.0"
}
