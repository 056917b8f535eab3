internal import InflightCore

/// The form in which paths and patterns of robots.txt are compared (RFC 9309 sections 2.2.2 and 2.2.3).
///
/// - A percent-encoded unreserved octet is decoded. All other encoded octets stay encoded, with upper-case digits.
/// - An octet that a URI cannot contain (non-ASCII, control, space and a few others) is encoded.
/// - A reserved octet stays as it is written, so that `/a%2Fb` and `/a/b` differ. Two exceptions: `%2A` and `%24`
///   become the literal octets `*` and `$`, and ``decodedQuery(of:)`` treats `:` and `/` in a query like `%3A` and
///   `%2F`.
/// - The normal form is ASCII. In a pattern, ``wildcard`` and ``end`` stand for the special characters.
enum RobotsPattern {
    /// The octet that stands for a `*` in a normalised pattern.
    static let wildcard: UInt8 = 0x80
    /// The octet that stands for a `$` at the end of a normalised pattern.
    static let end: UInt8 = 0x81

    /// Appends the normal form of a path or a pattern.
    ///
    /// - Returns: The number of octets by which the longest match is chosen: 3 for an octet that is encoded in the
    ///   normal form or was a special character, 1 for each other.
    @discardableResult
    static func appendNormalized(_ source: ArraySlice<UInt8>, isPattern: Bool, to output: inout [UInt8]) -> Int {
        var octets = 0
        var index = source.startIndex
        while index < source.endIndex {
            let byte = source[index]
            index += 1
            octets += 1
            if byte == UInt8(ascii: "%"), source.endIndex - index >= 2, let high = Hexadecimal.value(source[index]),
                let low = Hexadecimal.value(source[index + 1])
            {
                let octet = high << 4 | low
                index += 2
                if isUnreserved(octet) {
                    output.append(octet)
                    continue
                }
                octets += 2
                let isSpecial = octet == UInt8(ascii: "*") || octet == UInt8(ascii: "$")
                if isSpecial { output.append(octet) } else { Hexadecimal.appendPercentEncoded(octet, to: &output) }
            } else if isPattern, byte == UInt8(ascii: "*") {
                // Repeated wildcards are one, but each counts as an octet.
                if output.last != wildcard { output.append(wildcard) }
            } else if isPattern, byte == UInt8(ascii: "$"), index == source.endIndex {
                output.append(end)
            } else if isAllowedInURI(byte) {
                output.append(byte)
            } else {
                octets += 2
                Hexadecimal.appendPercentEncoded(byte, to: &output)
            }
        }
        return octets
    }

    /// Returns a normalised path or pattern in which `%3A` and `%2F` behind the first `?` are decoded, or nil if there
    /// are none. RFC 9309's example compares `?baz=https://foo.bar` with `?baz=https%3A%2F%2Ffoo.bar`.
    static func decodedQuery(of bytes: ArraySlice<UInt8>) -> [UInt8]? {
        guard let query = bytes.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        var output = Array(bytes[..<query])
        var index = query
        while index < bytes.endIndex {
            let triplet = bytes[index...].prefix(3)
            if triplet.elementsEqual("%3A".utf8) {
                output.append(UInt8(ascii: ":"))
            } else if triplet.elementsEqual("%2F".utf8) {
                output.append(UInt8(ascii: "/"))
            } else {
                output.append(bytes[index])
                index += 1
                continue
            }
            index += 3
        }
        return output.count == bytes.count ? nil : output
    }

    /// Returns whether a normalised pattern matches a normalised path from its start.
    ///
    /// The text between two wildcards is searched once, at its first place, because a later place cannot match more.
    /// No search is ever repeated, so the number of wildcards does not multiply the cost.
    ///
    /// - Parameter steps: The number of octets that may still be compared. Negative on return if it did not suffice.
    static func matches(_ pattern: Span<UInt8>, _ path: Span<UInt8>, steps: inout Int) -> Bool {
        var position = 0
        var start = 0
        while true {
            var stop = start
            while stop < pattern.count, pattern[stop] < wildcard { stop += 1 }
            let text = pattern.extracting(start..<stop)
            let isFirst = start == 0
            steps -= text.count
            if stop < pattern.count, pattern[stop] == end {
                let place = path.count - text.count
                guard place >= position, !isFirst || place == 0 else { return false }
                return isEqual(text, path, at: place, steps: &steps)
            }
            guard path.count - text.count >= position else { return false }
            if isFirst {
                guard isEqual(text, path, at: 0, steps: &steps) else { return false }
            } else {
                while !isEqual(text, path, at: position, steps: &steps) {
                    position += 1
                    guard path.count - text.count >= position, steps >= 0 else { return false }
                }
            }
            position += text.count
            if stop == pattern.count { return true }
            start = stop + 1
        }
    }

    private static func isEqual(_ text: Span<UInt8>, _ path: Span<UInt8>, at place: Int, steps: inout Int) -> Bool {
        var index = 0
        while index < text.count, text[index] == path[place + index] { index += 1 }
        steps -= index + 1
        return index == text.count
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether a URI may contain the octet unencoded (RFC 3986 section 2). `%` stays, too, if no digits follow it.
    private static func isAllowedInURI(_ byte: UInt8) -> Bool {
        guard byte > 0x20, byte < 0x7F else { return false }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"),
            UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            return false
        default: return true
        }
    }
}
