/// Cookies that responses have set, for later requests (RFC 6265): those that the redirects of one load have set, or
/// those of an ``ImagePipeline/CookieStore``.
///
/// A value without I/O: whether several hosts may share a cookie depends on the list of public suffixes, which the
/// caller consults.
package struct CookieJar: Sendable {
    /// The maximum number of cookies of one load.
    package static let maximumCount = 50
    /// The maximum number of bytes of a cookie's name and value together. A longer cookie is ignored.
    package static let maximumBytes = 4096
    /// The maximum number of bytes of an attribute's value. A longer attribute is ignored.
    private static let maximumAttributeBytes = 1024

    package struct Cookie: Sendable, Hashable {
        package var name: [UInt8]
        package var value: [UInt8]
        /// The host that set the cookie, or the domain whose hosts share it.
        package var domain: [UInt8]
        package var isHostOnly = true
        package var path: [UInt8]
        /// Whether it is sent over HTTPS only.
        package var isSecure = false
        /// The time from which on it is not sent; `nil` for the whole load.
        package var expiry: WallTime?
        /// Whether scripts must not see it. It makes no difference here, but belongs to the cookie in a file.
        package var isHTTPOnly = false
        /// The number of the response of this load that set it; `nil` if none of them did.
        package var response: Int?

        /// Whether both are one cookie with one value.
        func isSame(as other: Cookie) -> Bool { replaces(other) && value == other.value }

        /// Whether a response that sets one of the two replaces the other (RFC 6265 section 5.3).
        fileprivate func replaces(_ other: Cookie) -> Bool {
            name == other.name && domain == other.domain && isHostOnly == other.isHostOnly && path == other.path
        }
    }

    /// In the order of their creation.
    package private(set) var cookies: [Cookie] = []
    private let limit: Int
    private let limitOfDomain: Int

    /// - Parameters:
    ///   - limit: the maximum number of cookies. A further one replaces the oldest.
    ///   - limitOfDomain: the maximum number of cookies with one domain. A further one replaces its oldest.
    package init(limit: Int = maximumCount, limitOfDomain: Int = .max) {
        self.limit = limit
        self.limitOfDomain = limitOfDomain
    }

    /// Stores the cookies that a response sets (RFC 6265 sections 5.2 and 5.3). Malformed ones, those for other hosts,
    /// and those beyond the limits are ignored, one by one.
    ///
    /// As in browsers, a response over HTTP neither sets a `Secure` cookie nor replaces one, and the prefixes
    /// `__Secure-` and `__Host-` of a name demand what they say.
    ///
    /// - Parameters:
    ///   - fields: the response's header fields.
    ///   - url: the URL that responded.
    ///   - response: the number of the response, by which ``Cookie/response`` names it.
    ///   - isPublicSuffix: returns whether names below a domain belong to different owners; `nil` if that is unknown,
    ///     and then a cookie is sent only to the host that set it.
    package mutating func store(
        _ fields: HTTPFields, from url: ResourceURL, response: Int, at now: WallTime,
        isPublicSuffix: (_ domain: String) -> Bool?
    ) {
        let parsed = Self.parse(fields, from: url, response: response, at: now, isPublicSuffix: isPublicSuffix)
        store(parsed, from: url, at: now)
    }

    /// Returns the well-formed cookies of a response that its host may set.
    package static func parse(
        _ fields: HTTPFields, from url: ResourceURL, response: Int?, at now: WallTime,
        isPublicSuffix: (_ domain: String) -> Bool?
    ) -> [Cookie] {
        guard let host = url.origin?.host else { return [] }
        return fields.rawValues("set-cookie").compactMap {
            parse($0, from: url, host: host, response, now, isPublicSuffix)
        }
    }

    /// Stores the cookies that were parsed from a response.
    package mutating func store(_ parsed: [Cookie], from url: ResourceURL, at now: WallTime) {
        guard let host = url.origin.map({ Array($0.host.utf8) }) else { return }
        let isSecure = url.scheme == "https"
        for cookie in parsed
        where isSecure || !cookie.isSecure && !hasSecureCookie(named: cookie.name, for: host) {
            store(cookie, at: now)
        }
    }

    /// Returns the number of the response that set this cookie, with this value; `nil` if none of this load did.
    func response(thatSet cookie: Cookie) -> Int? {
        cookies.first { $0.isSame(as: cookie) }?.response
    }

    /// Returns the cookies to send to a URL, in the order of RFC 6265 section 5.4: longer paths first.
    package func matching(_ url: ResourceURL, at now: WallTime) -> [Cookie] {
        guard !cookies.isEmpty, let host = url.origin.map({ Array($0.host.utf8) }) else { return [] }
        let path = Array(url.path.utf8)
        return cookies.enumerated()
            .filter { _, cookie in
                cookie.covers(host) && Self.covers(cookie.path, path) && (!cookie.isSecure || url.scheme == "https")
                    && !cookie.hasExpired(at: now)
            }
            .sorted { ($1.element.path.count, $0.offset) < ($0.element.path.count, $1.offset) }
            .map(\.element)
    }

    /// Returns cookies as the value of a `Cookie` field.
    package static func fieldValue(_ cookies: [Cookie]) -> [UInt8] {
        Array(cookies.map { $0.name + [.equals] + $0.value }.joined(separator: "; ".utf8))
    }

    // MARK: Storing

    /// Stores a cookie in place of the one that it replaces. An expired one only removes that.
    package mutating func store(_ cookie: Cookie, at now: WallTime) {
        switch (cookies.firstIndex { $0.replaces(cookie) }, cookie.hasExpired(at: now)) {
        case (nil, true): break
        case (let old?, true): cookies.remove(at: old)
        case (let old?, false): cookies[old] = cookie
        case (nil, false):
            makeRoom(for: cookie, at: now)
            cookies.append(cookie)
        }
    }

    private mutating func makeRoom(for cookie: Cookie, at now: WallTime) {
        var isDomainFull: Bool {
            limitOfDomain <= cookies.count && cookies.count { $0.domain == cookie.domain } >= limitOfDomain
        }
        guard cookies.count >= limit || isDomainFull else { return }
        cookies.removeAll { $0.hasExpired(at: now) }
        if isDomainFull, let oldest = cookies.firstIndex(where: { $0.domain == cookie.domain }) {
            cookies.remove(at: oldest)
        } else if cookies.count >= limit {
            cookies.removeFirst()
        }
    }

    private func hasSecureCookie(named name: [UInt8], for host: [UInt8]) -> Bool {
        cookies.contains { $0.isSecure && $0.name == name && $0.covers(host) }
    }

    // MARK: Parsing

    private static func parse(
        _ line: ArraySlice<UInt8>, from url: ResourceURL, host: String, _ response: Int?, _ now: WallTime,
        _ isPublicSuffix: (String) -> Bool?
    ) -> Cookie? {
        // A control character would end the field of the request.
        guard !line.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
        var rest = line
        let (name, value) = nextPair(&rest)
        guard let value, !name.isEmpty, name.count + value.count <= maximumBytes else { return nil }
        var cookie = Cookie(
            name: Array(name), value: Array(value), domain: Array(host.utf8), path: defaultPath(of: url),
            response: response)
        var domain: ArraySlice<UInt8>?
        var path: ArraySlice<UInt8>?
        var expires: WallTime?
        var maximumAge: WallTime?
        while !rest.isEmpty {
            let (name, value) = nextPair(&rest)
            let text = value ?? []
            guard text.count <= maximumAttributeBytes else { continue }
            switch String(decoding: name.map(\.asciiLowercased), as: UTF8.self) {
            case "domain":
                let bare = text.first == .dot ? text.dropFirst() : text
                if !bare.isEmpty { domain = bare }
            case "path": path = text.first == .slash ? text : nil
            case "secure": cookie.isSecure = true
            case "httponly": cookie.isHTTPOnly = true
            case "expires": expires = HTTPDate.parse(cookieDate: text) ?? expires
            case "max-age": maximumAge = expiry(maximumAge: text, now) ?? maximumAge
            default: break
            }
        }
        if let path { cookie.path = Array(path) }
        cookie.expiry = maximumAge ?? expires
        guard keepsPromise(cookie, hasDomain: domain != nil) else { return nil }
        guard let domain else { return cookie }
        guard let scope = scope(of: domain, host: host, isPublicSuffix) else { return nil }
        (cookie.domain, cookie.isHostOnly) = scope
        return cookie
    }

    /// Removes the next `name=value` and the semicolon after it. The value is `nil` without an equals sign.
    private static func nextPair(_ rest: inout ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>?) {
        let end = rest.firstIndex(of: .semicolon) ?? rest.endIndex
        let pair = rest[..<end]
        rest = rest[end...].dropFirst()
        guard let equals = pair.firstIndex(of: .equals) else { return (FieldScanner.trimmed(pair), nil) }
        return (FieldScanner.trimmed(pair[..<equals]), FieldScanner.trimmed(pair[(equals + 1)...]))
    }

    /// Returns the hosts that get a cookie with a `Domain` attribute; `nil` if the host must not set it.
    private static func scope(
        of attribute: ArraySlice<UInt8>, host: String, _ isPublicSuffix: (String) -> Bool?
    ) -> (domain: [UInt8], isHostOnly: Bool)? {
        guard let domain = String(validating: attribute, as: UTF8.self)?.lowercased() else { return nil }
        let own = Array(host.utf8)
        let wide = Array(domain.utf8)
        guard isWithin(own, wide) else { return nil }
        // Addresses have no domains, and the list has no names that end with a dot.
        guard !isAddress(own), wide.last != .dot else { return own == wide ? (own, true) : nil }
        switch isPublicSuffix(domain) {
        case nil: return (own, true)
        case true?: return own == wide ? (own, true) : nil
        case false?: return (wide, false)
        }
    }

    /// Returns whether a host is a literal address: no name in DNS has a colon or a last label that begins with a
    /// digit.
    private static func isAddress(_ host: [UInt8]) -> Bool {
        host.contains(.colon) || host.split(separator: .dot).last?.first?.isDigit ?? false
    }

    /// Returns whether a cookie is what the prefix of its name promises (RFC 6265bis section 4.1.3).
    private static func keepsPromise(_ cookie: Cookie, hasDomain: Bool) -> Bool {
        let name = cookie.name.prefix(9).map(\.asciiLowercased)
        if name.starts(with: "__host-".utf8) { return cookie.isSecure && !hasDomain && cookie.path == [.slash] }
        return cookie.isSecure || !name.elementsEqual("__secure-".utf8)
    }

    /// Returns the directory of the URL's path (RFC 6265 section 5.1.4).
    private static func defaultPath(of url: ResourceURL) -> [UInt8] {
        let path = Array(url.path.utf8)
        guard let end = path.lastIndex(of: .slash), end > 0 else { return [.slash] }
        return Array(path[..<end])
    }

    private static func expiry(maximumAge text: ArraySlice<UInt8>, _ now: WallTime) -> WallTime? {
        let isNegative = text.first == .dash
        guard let seconds = FieldScanner.seconds(isNegative ? text.dropFirst() : text) else { return nil }
        return now.adding(milliseconds: isNegative ? 0 : seconds * 1000)
    }

    // MARK: Matching

    /// Returns whether `domain` is a host itself or above it (RFC 6265 section 5.1.3).
    fileprivate static func isWithin(_ host: [UInt8], _ domain: [UInt8]) -> Bool {
        guard host.count > domain.count else { return host == domain }
        return host.suffix(domain.count).elementsEqual(domain) && host[host.count - domain.count - 1] == .dot
    }

    /// Returns whether a path is below a cookie's path (RFC 6265 section 5.1.4).
    private static func covers(_ cookie: [UInt8], _ path: [UInt8]) -> Bool {
        guard path.starts(with: cookie) else { return false }
        return path.count == cookie.count || cookie.last == .slash || path[cookie.count] == .slash
    }
}

extension CookieJar.Cookie {
    fileprivate func covers(_ host: [UInt8]) -> Bool {
        isHostOnly ? host == domain : CookieJar.isWithin(host, domain)
    }

    package func hasExpired(at now: WallTime) -> Bool { expiry.map { $0 <= now } ?? false }
}

extension UInt8 {
    fileprivate static let semicolon = UInt8(ascii: ";")
    fileprivate static let colon = UInt8(ascii: ":")
    fileprivate static let dot = UInt8(ascii: ".")
}
