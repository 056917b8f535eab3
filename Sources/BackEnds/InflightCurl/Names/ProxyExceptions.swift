internal import CInflightCurl
internal import Glibc
internal import InflightCore

/// The hosts that `no_proxy` exempts from proxies.
///
/// A name matches itself and all names below it, with or without a leading dot. An address matches itself; an address
/// with `/bits` matches a network; `*` matches everything. Items are separated by commas or white space.
struct ProxyExceptions: Sendable {
    private var isEverything = false
    private var names: [String] = []
    private var networks: [(address: IPAddress, bits: Int)] = []

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
            if let address = Self.address(first.filter { $0 != "[" && $0 != "]" }) {
                let bits = parts.count == 2 ? Int(parts[1]) : address.bytes.count * 8
                guard let bits, (0...address.bytes.count * 8).contains(bits) else { continue }
                networks.append((address, bits))
            } else {
                let name = text.drop { $0 == "." }
                let bare = name.hasSuffix(".") ? name.dropLast() : name
                if !bare.isEmpty { names.append(String(bare)) }
            }
        }
    }

    /// - Parameter host: Lower case, without brackets.
    func contains(_ host: String) -> Bool {
        if isEverything { return true }
        if let address = Self.address(host) {
            return networks.contains {
                $0.address.bytes.count == address.bytes.count
                    && address.hasPrefix($0.address.bytes, length: $0.bits)
            }
        }
        let bare = host.hasSuffix(".") ? String(host.dropLast()) : host
        return names.contains { bare == $0 || (bare.hasSuffix($0) && bare.dropLast($0.count).hasSuffix(".")) }
    }

    /// Returns the start of a port after a name, an IPv4 address or a bracketed address. The port is ignored.
    private static func portStart(_ text: Substring) -> Substring.Index? {
        guard let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon || text.contains("]:") else {
            return nil
        }
        let digits = text[text.index(after: colon)...]
        return digits.allSatisfy { $0.isASCII && $0.isNumber } ? colon : nil
    }

    /// Parses an address in its usual notation.
    private static func address(_ text: String) -> IPAddress? {
        var v4 = in_addr()
        if unsafe inet_pton(AF_INET, text, &v4) == 1 {
            return unsafe withUnsafeBytes(of: v4) { unsafe IPAddress(bytes: $0) }
        }
        var v6 = in6_addr()
        guard unsafe inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        return unsafe withUnsafeBytes(of: v6) { unsafe IPAddress(bytes: $0) }
    }
}
