internal import InflightCore

/// The proxy for each origin according to the environment variables, as libcurl reads them.
///
/// Only the lower-case `http_proxy` counts. In a CGI program, a client can set the upper-case one by a `Proxy` field.
struct ProxyRules: Sendable {
    struct Proxy: Equatable, Sendable {
        /// The URL for libcurl, with the port, and with credentials if there are any.
        var text: String
        var host: String
        var port: Int
        /// Whether the origin's name must be resolved locally.
        var needsAddresses: Bool
    }

    struct Malformed: Error {
        var variable: String
    }

    private let http: (variable: String, text: String)?
    private let https: (variable: String, text: String)?
    private let exceptions: ProxyExceptions

    /// Rules without any proxy.
    static let none = ProxyRules(environment: [:])

    init(environment: [String: String]) {
        func first(_ names: String...) -> (variable: String, text: String)? {
            for name in names {
                if let value = environment[name] { return value.isEmpty ? nil : (name, value) }
            }
            return nil
        }
        let all = first("all_proxy", "ALL_PROXY")
        http = environment["http_proxy"] == nil ? all : first("http_proxy")
        https =
            environment["https_proxy"] == nil && environment["HTTPS_PROXY"] == nil
            ? all : first("https_proxy", "HTTPS_PROXY")
        exceptions = ProxyExceptions(environment["no_proxy"] ?? environment["NO_PROXY"] ?? "")
    }

    /// - Returns: The proxy, or nil if the origin is reached directly.
    func proxy(for origin: Origin) throws(Malformed) -> Proxy? {
        guard let (variable, text) = origin.scheme == "https" ? https : http, !exceptions.contains(origin.host) else {
            return nil
        }
        guard let proxy = Self.parse(text) else { throw Malformed(variable: variable) }
        return proxy
    }

    private static func parse(_ text: String) -> Proxy? {
        var scheme = "http"
        var rest = Substring(text)
        if let mark = text.firstRange(of: "://") {
            scheme = text[..<mark.lowerBound].lowercased()
            rest = text[mark.upperBound...]
        }
        guard ["http", "https", "socks4", "socks4a", "socks5", "socks5h"].contains(scheme) else { return nil }
        rest = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        var credentials = ""
        if let at = rest.lastIndex(of: "@") {
            credentials = String(rest[...at])
            rest = rest[rest.index(after: at)...]
        }
        let host: Substring
        var portText: Substring?
        if rest.first == "[" {
            guard let close = rest.firstIndex(of: "]") else { return nil }
            host = rest[..<close].dropFirst()
            let behind = rest[rest.index(after: close)...]
            if !behind.isEmpty {
                guard behind.first == ":" else { return nil }
                portText = behind.dropFirst()
            }
        } else {
            let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { return nil }
            host = parts[0]
            portText = parts.count == 2 ? parts[1] : nil
        }
        // libcurl's default ports.
        var port = scheme == "https" ? 443 : 1080
        if let portText, !portText.isEmpty {
            guard let number = Int(portText), (1...65535).contains(number) else { return nil }
            port = number
        }
        let allowed = host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
        guard !host.isEmpty, allowed, !credentials.utf8.contains(where: { $0 < 0x20 }) else { return nil }
        let name = host.lowercased()
        let shown = name.contains(":") ? "[\(name)]" : name
        return Proxy(
            text: "\(scheme)://\(credentials)\(shown):\(port)", host: name, port: port,
            needsAddresses: scheme == "socks4" || scheme == "socks5")
    }
}
