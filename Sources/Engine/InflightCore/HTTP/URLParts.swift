/// A URL reference split at its delimiters (RFC 3986 appendix B), without decoding.
struct URLParts {
    var scheme: Substring?
    var authority: Substring?
    var path: Substring
    var query: Substring?

    init(_ text: String) {
        var rest = Substring(text)
        if let hash = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<hash] }
        if let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<colon]) {
            scheme = rest[..<colon]
            rest = rest[rest.utf8.index(after: colon)...]
        }
        if rest.utf8.starts(with: "//".utf8) {
            rest = rest[rest.utf8.index(rest.startIndex, offsetBy: 2)...]
            let end = rest.utf8.firstIndex { "/?\\".utf8.contains($0) } ?? rest.endIndex
            authority = rest[..<end]
            rest = rest[end...]
        }
        if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[rest.utf8.index(after: mark)...]
            rest = rest[..<mark]
        }
        path = rest
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, (first.asciiLowercased >= 0x61 && first.asciiLowercased <= 0x7A) else {
            return false
        }
        return text.utf8.allSatisfy {
            let letter = $0.asciiLowercased
            return (letter >= 0x61 && letter <= 0x7A) || (letter >= 0x30 && letter <= 0x39)
                || letter == UInt8(ascii: "+") || letter == UInt8(ascii: "-") || letter == UInt8(ascii: ".")
        }
    }

    static func defaultPort(_ scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    /// Returns the host in lower case without brackets, and the port; `nil` if either is malformed. The zone of an IPv6
    /// address stays as it is.
    static func hostAndPort(_ text: Substring, defaultPort: Int?) -> (String, Int)? {
        var host = text
        var zone = Substring()
        var portText: Substring?
        if text.utf8.first == UInt8(ascii: "[") {
            guard let close = text.utf8.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = text[text.utf8.index(after: text.startIndex)..<close]
            if let percent = host.utf8.firstIndex(of: UInt8(ascii: "%")) {
                zone = host[percent...]
                host = host[..<percent]
                guard isZone(zone) else { return nil }
            }
            guard host.utf8.contains(UInt8(ascii: ":")), host.utf8.allSatisfy(isAddressByte) else { return nil }
            let behind = text[text.utf8.index(after: close)...]
            if !behind.isEmpty {
                guard behind.utf8.first == UInt8(ascii: ":") else { return nil }
                portText = behind[behind.utf8.index(after: behind.startIndex)...]
            }
        } else if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
            host = text[..<colon]
            portText = text[text.utf8.index(after: colon)...]
        }
        // Foundation's `URL` percent-encodes letters beyond ASCII in hosts (RFC 3986 section 3.2.2).
        guard let decoded = String(validating: PercentEncoding.decodedBytes(host), as: UTF8.self), !decoded.isEmpty,
            !decoded.utf8.contains(where: isForbiddenInHost),
            text.utf8.first == UInt8(ascii: "[") || !decoded.utf8.contains(UInt8(ascii: ":"))
        else { return nil }
        var port = defaultPort ?? 0
        if let portText, !portText.isEmpty {
            guard portText.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int(portText),
                (1...65535).contains(number)
            else { return nil }
            port = number
        }
        // The zone is the name of an interface, whose case matters.
        return (decoded.lowercased() + zone, port)
    }

    /// Returns whether the text is `%25` and the zone of an IPv6 address (RFC 6874 section 2), without encoded bytes.
    private static func isZone(_ text: Substring) -> Bool {
        text.utf8.count > 3 && text.utf8.starts(with: "%25".utf8)
            && text.utf8.dropFirst(3).allSatisfy {
                PercentEncoding.isAlphanumeric($0) || "-._~".utf8.contains($0)
            }
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        let letter = byte.asciiLowercased
        return (letter >= 0x30 && letter <= 0x39) || (letter >= 0x61 && letter <= 0x66)
            || letter == UInt8(ascii: ":") || letter == UInt8(ascii: ".")
    }

    /// Returns whether a byte is invalid in a host (the WHATWG URL standard's forbidden host code points).
    private static func isForbiddenInHost(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == 0x7F || "<>\\^|/?#@%[]".utf8.contains(byte)
    }

    /// Removes dot segments (RFC 3986 section 5.2.4) from a path that begins with a slash.
    static func removingDotSegments(_ path: String) -> String {
        guard path.utf8.contains(UInt8(ascii: ".")) else { return path }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard segments.contains(where: { isDot($0) || isDotDot($0) }) else { return path }
        var kept: [Substring] = []
        for (offset, segment) in segments.enumerated() {
            let isLast = offset == segments.count - 1
            if isDotDot(segment) {
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            } else if isDot(segment) {
                if isLast { kept.append("") }
            } else {
                kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    private static func isDot(_ segment: Substring) -> Bool {
        segment == "." || segment.lowercased() == "%2e"
    }

    private static func isDotDot(_ segment: Substring) -> Bool {
        segment == ".."
            || (segment.utf8.count <= 6 && [".%2e", "%2e.", "%2e%2e"].contains(segment.lowercased()))
    }

    /// Returns text that may not be a valid URL for an error: without `user:password@`, control characters encoded.
    static func shown(_ text: String) -> String {
        let scalars = withoutCredentials(text).unicodeScalars.map { scalar in
            guard scalar.properties.generalCategory == .control else { return String(scalar) }
            return PercentEncoding.encoded(String(scalar), keeping: [])
        }
        return scalars.joined()
    }

    private static func withoutCredentials(_ text: String) -> String {
        var start = text.range(ofASCII: "//")?.upperBound ?? text.startIndex
        // Slashes after an at sign do not begin an authority.
        if text[..<start].utf8.contains(UInt8(ascii: "@")) { start = text.startIndex }
        let rest = text[start...]
        var end = rest.utf8.firstIndex { "/?#\\".utf8.contains($0) } ?? rest.endIndex
        // A password that was not encoded may contain a delimiter.
        if rest[..<end].utf8.contains(UInt8(ascii: ":")) { end = rest.endIndex }
        guard let at = rest[..<end].utf8.lastIndex(of: UInt8(ascii: "@")) else { return text }
        return String(text[..<start] + rest[rest.utf8.index(after: at)...])
    }
}

extension String {
    fileprivate func range(ofASCII pattern: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].utf8.starts(with: pattern.utf8) {
                return start..<utf8.index(start, offsetBy: pattern.utf8.count)
            }
            start = utf8.index(after: start)
        }
        return nil
    }
}
