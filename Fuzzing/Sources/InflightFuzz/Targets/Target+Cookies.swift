@testable import InflightCore

extension Target {
    /// Two URLs in two lines, then the `Set-Cookie` lines of the first. Each line is also a date of `Expires`.
    static let cookies = Target(name: "cookies") { bytes in
        let lines = bytes.lines
        for line in lines { checkDate(line) }
        let urls = lines.prefix(2).compactMap { try? ResourceURL(String(decoding: $0, as: UTF8.self)) }
        let hosts = urls.compactMap { $0.origin.map { Array($0.host.utf8) } }
        guard let first = urls.first, let second = urls.last, let host = hosts.first, hosts.count == 2 else { return }
        let fields = HTTPFields("Set-Cookie", lines.dropFirst(2))
        // Without a list of public suffixes, no cookie has a domain.
        var narrow = CookieJar()
        narrow.store(fields, from: first, response: 0, at: .example) { _ in nil }
        require(narrow.cookies.allSatisfy { $0.isHostOnly && $0.domain == host }, "a cookie stays with its host")

        var jar = CookieJar()
        jar.store(fields, from: first, response: 0, at: .example, isPublicSuffix: { isSuffix($0) })
        require(jar.cookies.count <= CookieJar.maximumCount, "the number of cookies is limited")
        for cookie in jar.cookies {
            require(!cookie.name.isEmpty, "a name is not empty")
            require(cookie.name.count + cookie.value.count <= CookieJar.maximumBytes, "a cookie's size is limited")
            require(
                (cookie.name + cookie.value).allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x3B || $0 == 0x09 },
                "a cookie cannot end its field, or begin another cookie")
            require(isWithin(host, cookie.domain), "a host sets cookies for itself and domains above it")
            require(cookie.isHostOnly || !isSuffix(cookie.domain), "no cookie is for a public suffix")
            require(cookie.path.first == 0x2F, "a path begins with a slash")
            require(!cookie.isSecure || first.scheme == "https", "only HTTPS sets a Secure cookie")
            require(cookie.expiry.map { $0 > .example } ?? true, "no stored cookie has expired")
        }
        checkMatching(jar, second, hosts[1])

        // Cookies that are written and parsed again are the same cookies. A `Path` cannot contain a semicolon.
        let written = jar.cookies.filter { !$0.path.contains(0x3B) }.map {
            var cookie = $0
            cookie.expiry = nil
            return cookie
        }
        var copy = CookieJar()
        copy.store(
            HTTPFields("Set-Cookie", written.map { line($0)[...] }), from: first, response: 0, at: .example,
            isPublicSuffix: { isSuffix($0) })
        require(copy.cookies == written, "a written cookie is the parsed one")
    }

    private static func checkMatching(_ jar: CookieJar, _ url: ResourceURL, _ host: [UInt8]) {
        let path = Array(url.path.utf8)
        let matching = jar.matching(url, at: .example)
        for cookie in jar.cookies {
            let isForPath =
                path.starts(with: cookie.path)
                && (path.count == cookie.path.count || cookie.path.last == 0x2F || path[cookie.path.count] == 0x2F)
            let isForHost = cookie.isHostOnly ? cookie.domain == host : isWithin(host, cookie.domain)
            require(
                matching.contains(cookie) == (isForPath && isForHost && (!cookie.isSecure || url.scheme == "https")),
                "a cookie is sent to its hosts, below its path, and if Secure over HTTPS only")
        }
        require(matching.count <= jar.cookies.count, "no cookie is sent twice")
        require(
            zip(matching, matching.dropFirst()).allSatisfy { $0.path.count >= $1.path.count }, "longer paths come first"
        )
        require(
            jar.matching(url, at: WallTime(milliseconds: .max)).allSatisfy { $0.expiry == nil },
            "a cookie with an expiry expires")
    }

    /// Returns whether a host is a domain or ends with a dot and the domain.
    private static func isWithin(_ host: [UInt8], _ domain: [UInt8]) -> Bool {
        host == domain || ([0x2E] + host).reversed().starts(with: ([0x2E] + domain).reversed())
    }

    private static func isSuffix(_ domain: [UInt8]) -> Bool { isSuffix(String(decoding: domain, as: UTF8.self)) }

    /// A list of public suffixes: all names without a dot, and one with it.
    private static func isSuffix(_ domain: String) -> Bool {
        !domain.utf8.contains(0x2E) || domain == "co.example"
    }

    private static func line(_ cookie: CookieJar.Cookie) -> [UInt8] {
        var line = cookie.name + Array("=".utf8) + cookie.value + Array("; Path=".utf8) + cookie.path
        if !cookie.isHostOnly { line += Array("; Domain=".utf8) + cookie.domain }
        if cookie.isSecure { line += Array("; Secure".utf8) }
        if cookie.isHTTPOnly { line += Array("; HttpOnly".utf8) }
        return line
    }

    private static func checkDate(_ line: ArraySlice<UInt8>) {
        guard let time = HTTPDate.parse(cookieDate: line) else { return }
        require(time.milliseconds % 1000 == 0, "dates are whole seconds")
        let text = HTTPDate.text(time)
        require(HTTPDate.parse(cookieDate: Array(text.utf8)[...]) == time, "\(text) is the parsed date")
        require(HTTPDate.parse(text.utf8, now: .example) == time, "\(text) is the same date of HTTP")
    }
}
