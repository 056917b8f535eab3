internal import CInflightCurl

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// What a URL's host is, as far as finding its addresses goes.
enum HostName: Equatable {
    /// An address written out, IPv4's odd forms (`127.1`, `0x7f000001`) included.
    case address
    /// `localhost` and what stands below it: never asked of anybody (RFC 6761 section 6.3).
    case loopback
    /// A name in ASCII, as DNS has it.
    case name(String)
    /// A name beyond ASCII that has no form for DNS.
    case invalid

    /// - Parameter host: lower case, without brackets.
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
            // What looks like digits in another script may be an address once it is mapped.
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

    /// IDNA 2008 with the mapping of UTS 46, as browsers do it.
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
