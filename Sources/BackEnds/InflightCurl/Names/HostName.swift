internal import CInflightCurl

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The kind of a URL's host, as far as name resolution is concerned.
enum HostName: Equatable {
    /// A literal address, including unusual forms of IPv4 (`127.1`, `0x7f000001`).
    case address
    /// `localhost` or a name below it. Never looked up (RFC 6761 section 6.3).
    case loopback
    /// An ASCII name, as in DNS.
    case name(String)
    /// A non-ASCII name without a DNS form.
    case invalid

    /// - Parameter host: Lower case, without brackets.
    init(_ host: String) {
        if host.utf8.contains(UInt8(ascii: ":")) {
            self = .address
            return
        }
        if host.utf8.contains(where: { $0 >= 0x80 }) {
            guard let name = Self.encoded(host) else {
                self = .invalid
                return
            }
            // Digits of another script may form an address once they are mapped.
            self = HostName(name)
            return
        }
        let bare = host.hasSuffix(".") ? String(host.dropLast()) : host
        var address = in_addr()
        if unsafe inet_aton(bare, &address) != 0 {
            self = .address
        } else if bare == "localhost" || bare.hasSuffix(".localhost") {
            self = .loopback
        } else {
            self = .name(host)
        }
    }

    /// Encodes a name by IDNA 2008 with the mapping of UTS 46, as browsers do.
    static func encoded(_ host: String) -> String? {
        var output: UnsafeMutablePointer<UInt8>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        let status = unsafe host.withCString { text in
            unsafe text.withMemoryRebound(to: UInt8.self, capacity: host.utf8.count + 1) {
                unsafe idn2_lookup_u8($0, &output, flags)
            }
        }
        guard status == IDN2_OK.rawValue, let encoded = unsafe output else { return nil }
        defer { unsafe idn2_free(encoded) }
        return unsafe String(cString: encoded)
    }
}
