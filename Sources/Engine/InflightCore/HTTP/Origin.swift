/// Scheme, host and port: the scope of connections, limits and credentials (RFC 6454 section 4).
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    public let scheme: String
    /// The host in lower case, without the brackets of an IPv6 address.
    public let host: String
    public let port: Int

    public init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    public var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "\(scheme)://[\(host)]:\(port)" : "\(scheme)://\(host):\(port)"
    }
}
