/// An IPv4 or IPv6 address, without port or zone.
public struct IPAddress: Hashable, Sendable {
    /// The address in network byte order: 4 bytes for IPv4, 16 for IPv6.
    public let bytes: [UInt8]

    /// Creates an address from its bytes in network byte order.
    ///
    /// - Parameter bytes: 4 bytes for IPv4, 16 for IPv6.
    /// - Returns: `nil` if there is another number of bytes.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Whether the first `length` bits equal those of `prefix`, which is a prefix or an address of the same family.
    package func hasPrefix(_ prefix: [UInt8], length: Int) -> Bool {
        for (index, byte) in prefix.enumerated() where index * 8 < length {
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, length - index * 8))
            guard bytes[index] & mask == byte & mask else { return false }
        }
        return true
    }
}

/// A policy that decides which network addresses a transport may connect to.
///
/// A server that fetches URLs for its users sets ``publicOnly``, or a user makes it fetch from the server's own network
/// (server-side request forgery). The transport asks the policy for every address before it connects: after the name is
/// resolved, for each address of the name, for literal addresses in every notation, and again after each redirect. A
/// name that resolves to another address later (DNS rebinding) gains nothing. An open connection is reused without
/// asking again.
///
/// Behind a proxy that resolves names itself, the transport never learns the address, so that only literal addresses in
/// URLs are refused; the proxy has to enforce the rest. The address of the proxy itself is not subject to the policy.
/// `file:` and `data:` URLs are not either: do not register those transports for URLs that are not trusted.
public struct AddressPolicy: Sendable {
    /// `nil` allows every address.
    private let isAllowed: (@Sendable (IPAddress) -> Bool)?

    /// Creates a policy from a function.
    ///
    /// - Parameter isAllowed: returns whether a connection to the address may be opened. Called on the transport's
    ///   thread, with no lock held: it must not block.
    public init(_ isAllowed: @escaping @Sendable (IPAddress) -> Bool) {
        self.isAllowed = isAllowed
    }

    /// Returns whether a connection to `address` may be opened.
    public func allows(_ address: IPAddress) -> Bool { isAllowed?(address) ?? true }

    /// Returns whether a connection to an address may be opened. An address that cannot be read is refused unless every
    /// address is allowed.
    package func allows(ifKnown address: IPAddress?) -> Bool {
        guard let isAllowed else { return true }
        return address.map(isAllowed) ?? false
    }

    private init() { isAllowed = nil }

    /// A policy that allows every address: the default.
    public static let any = AddressPolicy()

    /// A policy that allows globally reachable unicast addresses only.
    ///
    /// Refuses what the IANA special-purpose address registries (RFC 6890) list as not globally reachable: loopback,
    /// private, link-local, shared, documentation, benchmarking, multicast and reserved addresses. An IPv4 address
    /// embedded in IPv6 (mapped, 6to4, NAT64) is judged as that IPv4 address.
    public static let publicOnly = AddressPolicy { address in
        address.bytes.count == 4 ? isPublicIPv4(address) : isPublicIPv6(address)
    }

    private static let specialIPv4: [(prefix: [UInt8], length: Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
        ([203, 0, 113], 24), ([224], 4), ([240], 4),
    ]

    private static func isPublicIPv4(_ address: IPAddress) -> Bool {
        !specialIPv4.contains { address.hasPrefix($0.prefix, length: $0.length) }
    }

    /// The IPv6 prefixes that embed an IPv4 address, and its offset: mapped addresses, NAT64 (RFC 6052), 6to4.
    private static let embeddings: [(prefix: [UInt8], length: Int, offset: Int)] = [
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96, 12), ([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96, 12),
        ([0x20, 0x02], 16, 2),
    ]

    /// The special prefixes within 2000::/3: protocol assignments (Teredo among them) and documentation.
    private static let specialIPv6: [(prefix: [UInt8], length: Int)] = [
        ([0x20, 0x01, 0], 23), ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x3F, 0xFF, 0], 20),
    ]

    private static func isPublicIPv6(_ address: IPAddress) -> Bool {
        for (prefix, length, offset) in embeddings where address.hasPrefix(prefix, length: length) {
            return IPAddress(bytes: address.bytes[offset..<offset + 4]).map(isPublicIPv4) ?? false
        }
        return address.hasPrefix([0x20], length: 3)
            && !specialIPv6.contains { address.hasPrefix($0.prefix, length: $0.length) }
    }
}
