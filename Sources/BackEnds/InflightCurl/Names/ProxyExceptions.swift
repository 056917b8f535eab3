internal import CInflightCurl

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// What `no_proxy` says: hosts that are reached directly.
///
/// A name stands for itself and all below it, with or without a leading dot; an address for itself; an address with
/// `/bits` for a network; `*` for everything. Commas or white space stand between them.
struct ProxyExceptions: Sendable {
    private struct Network: Sendable {
        var bytes: [UInt8]
        var bits: Int
    }

    private var isEverything = false
    private var names: [String] = []
    private var networks: [Network] = []

    init(_ list: String) {
        for item in list.lowercased().split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            if item == "*" {
                isEverything = true
                continue
            }
            var text = item
            if let port = Self.portStart(text) { text = text[..<port] }
            let parts = text.split(separator: "/", maxSplits: 1)
            guard let first = parts.first else { continue }
            if let bytes = Self.addressBytes(first.filter { $0 != "[" && $0 != "]" }) {
                let bits = parts.count == 2 ? Int(parts[1]) : bytes.count * 8
                guard let bits, (0...bytes.count * 8).contains(bits) else { continue }
                networks.append(Network(bytes: bytes, bits: bits))
            } else {
                let name = text.drop { $0 == "." }
                let bare = name.hasSuffix(".") ? name.dropLast() : name
                if !bare.isEmpty { names.append(String(bare)) }
            }
        }
    }

    /// - Parameter host: lower case, without brackets.
    func contains(_ host: String) -> Bool {
        if isEverything { return true }
        if let bytes = Self.addressBytes(host) {
            return networks.contains { Self.matches(bytes, $0) }
        }
        let bare = host.hasSuffix(".") ? String(host.dropLast()) : host
        return names.contains { bare == $0 || (bare.hasSuffix($0) && bare.dropLast($0.count).hasSuffix(".")) }
    }

    /// Where a port begins that somebody wrote behind a name or an IPv4 address: it is not looked at.
    private static func portStart(_ text: Substring) -> Substring.Index? {
        guard let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon || text.contains("]:") else {
            return nil
        }
        let digits = text[text.index(after: colon)...]
        return digits.allSatisfy { $0.isASCII && $0.isNumber } ? colon : nil
    }

    private static func addressBytes(_ text: String) -> [UInt8]? {
        var v4 = in_addr()
        if unsafe inet_pton(AF_INET, text, &v4) == 1 {
            return unsafe withUnsafeBytes(of: &v4) { unsafe Array($0) }
        }
        var v6 = in6_addr()
        if unsafe inet_pton(AF_INET6, text, &v6) == 1 {
            return unsafe withUnsafeBytes(of: &v6) { unsafe Array($0) }
        }
        return nil
    }

    private static func matches(_ address: [UInt8], _ network: Network) -> Bool {
        guard address.count == network.bytes.count else { return false }
        let whole = network.bits / 8
        guard address[..<whole] == network.bytes[..<whole] else { return false }
        let rest = network.bits % 8
        guard rest > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> rest)
        return address[whole] & mask == network.bytes[whole] & mask
    }
}
