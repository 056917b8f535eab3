/// The scheme, host and port of a URL: the scope of connections, limits and credentials (RFC 6454 section 4).
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The URL scheme in lower case, such as `https`.
    public let scheme: String
    /// The host in lower case, without the brackets of an IPv6 address, whose zone is encoded (`fe80::1%25eth0`).
    public let host: String
    /// The port; the scheme's default if the URL has none, and 0 if the scheme has no default.
    public let port: Int

    /// Creates an origin from its parts, which are used as they are.
    ///
    /// - Parameters:
    ///   - scheme: the URL scheme in lower case.
    ///   - host: the host in lower case, without the brackets of an IPv6 address.
    ///   - port: the port number, the scheme's default included.
    public init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    public var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
    }
}
