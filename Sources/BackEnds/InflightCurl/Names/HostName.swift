internal import CInflightCurl
internal import Glibc

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
        var (status, name) = lookUp(host, IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
        // IDNA 2008 has no symbols such as emoji, but UTS 46 has. libidn2 accepts them only with the transitional
        // mapping, which differs in four characters, and would lead to other hosts than browsers'.
        if status == IDN2_DISALLOWED.rawValue, !host.unicodeScalars.contains(where: deviations.contains) {
            (status, name) = lookUp(host, IDN2_TRANSITIONAL.rawValue)
        }
        // The mapping may produce delimiters of URLs, from their wide forms.
        guard status == IDN2_OK.rawValue, let name, !name.utf8.contains(where: isDelimiter) else { return nil }
        return name
    }

    /// The characters whose mapping is transitional (UTS 46 section 4): ß, ς, and the joiners.
    private static let deviations: Set<Unicode.Scalar> = ["\u{DF}", "\u{3C2}", "\u{200C}", "\u{200D}"]

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7F || "<>\\^|/?#@%[]:".utf8.contains(byte)
    }

    private static func lookUp(_ host: String, _ flags: some BinaryInteger) -> (status: Int32, name: String?) {
        var output: UnsafeMutablePointer<UInt8>?
        let status = unsafe host.withCString { text in
            unsafe text.withMemoryRebound(to: UInt8.self, capacity: host.utf8.count + 1) {
                unsafe idn2_lookup_u8($0, &output, Int32(flags))
            }
        }
        defer { unsafe idn2_free(output) }
        return (status, unsafe output.map { unsafe String(cString: $0) })
    }
}
