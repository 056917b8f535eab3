/// An entity tag (RFC 9110 section 8.8.3), as the bytes sent.
///
/// A tag without quotation marks is kept as it is, for servers that compare it with the tag that they sent. It counts
/// as weak, like a tag with a misspelt weakness indicator.
package struct EntityTag: Hashable, Sendable {
    /// The tag as sent in a condition, including `W/` and quotation marks.
    package let text: [UInt8]
    package let isWeak: Bool
    /// The bytes between the quotation marks.
    private let opaque: [UInt8]

    package init?(_ value: ArraySlice<UInt8>) {
        let value = FieldScanner.trimmed(value)
        let quoted = Self.quotedPart(value)
        let isMarkedWeak = quoted.count < value.count
        text = Array(value)
        if quoted.count >= 2, quoted.first == .quote, quoted.last == .quote {
            guard quoted.dropFirst().dropLast().allSatisfy(Self.mayStandInTag) else { return nil }
            opaque = Array(quoted.dropFirst().dropLast())
            isWeak = isMarkedWeak
        } else {
            guard !value.isEmpty,
                value.allSatisfy({ Self.mayStandInTag($0) && $0 != .comma && $0 != UInt8(ascii: "*") })
            else { return nil }
            opaque = text
            isWeak = true
        }
    }

    /// Removes the weakness indicator before the quotation mark in servers' spellings: `W/`, `w/`, `W` and `W\`.
    private static func quotedPart(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard value.first.map({ $0 | 0x20 }) == UInt8(ascii: "w") else { return value }
        let rest = value.dropFirst()
        if rest.first == .quote { return rest }
        let isMarked = rest.first == UInt8(ascii: "/") || rest.first == .backslash
        return isMarked && rest.dropFirst().first == .quote ? rest.dropFirst() : value
    }

    package init?(_ value: String) {
        self.init(Array(value.utf8)[...])
    }

    /// Parses the first line of `ETag`.
    package init?(of fields: HTTPFields) {
        guard let value = fields.rawValues("etag").first else { return nil }
        self.init(value)
    }

    /// Returns whether both tags are strong and equal (RFC 9110 section 8.8.3.2).
    package func stronglyEquals(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque == other.opaque
    }

    /// Returns whether both tags are equal, apart from `W/` (RFC 9110 section 8.8.3.2).
    package func weaklyEquals(_ other: EntityTag) -> Bool {
        opaque == other.opaque
    }

    private static func mayStandInTag(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != .quote && byte != 0x7F
    }
}

/// The value of `If-None-Match` or `If-Match` (RFC 9110 sections 13.1.1 and 13.1.2): any, or a list of tags.
package enum EntityTagCondition: Hashable, Sendable {
    case any
    case tags([EntityTag])

    /// Parses all lines of the field; `nil` if there are none.
    package init?(_ name: String, of fields: HTTPFields) {
        let lines = fields.rawValues(name)
        guard !lines.isEmpty else { return nil }
        var tags: [EntityTag] = []
        for line in lines {
            if FieldScanner.trimmed(line).elementsEqual("*".utf8) {
                self = .any
                return
            }
            tags += Self.members(line).compactMap { EntityTag($0) }
        }
        self = .tags(tags)
    }

    /// Returns whether the condition matches by weak comparison (RFC 9110 section 13.1.2).
    package func weaklyMatches(_ tag: EntityTag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tag.map { tag in tags.contains { $0.weaklyEquals(tag) } } ?? false
        }
    }

    /// Splits a list of tags. Quoted commas are part of a tag, and there is no escape (RFC 9110 section 8.8.3).
    private static func members(_ line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var members: [ArraySlice<UInt8>] = []
        var start = line.startIndex
        var isQuoted = false
        for index in line.indices {
            if line[index] == .quote { isQuoted.toggle() }
            if line[index] == .comma, !isQuoted {
                members.append(line[start..<index])
                start = index + 1
            }
        }
        return members + [line[start...]]
    }
}
