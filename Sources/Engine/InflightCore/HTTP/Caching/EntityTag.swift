/// What an `ETag` says (RFC 9110 section 8.8.3), as the bytes that were sent.
///
/// A tag without its quotation marks is kept as it is, for servers that compare it with what they sent; it counts as weak.
/// So does one whose weakness indicator is misspelt.
package struct EntityTag: Hashable, Sendable {
    /// What goes into a condition, `W/` and quotation marks included.
    package let text: [UInt8]
    package let isWeak: Bool
    /// What is between the quotation marks.
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

    /// Without the weakness indicator, in the spellings that servers send: `W/`, `w/`, `W` and `W\` before the quotation mark.
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

    /// The first line of `ETag`.
    package init?(of fields: HTTPFields) {
        guard let value = fields.rawValues("etag").first else { return nil }
        self.init(value)
    }

    /// RFC 9110 section 8.8.3.2: both are strong, and the same.
    package func stronglyEquals(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && opaque == other.opaque
    }

    /// RFC 9110 section 8.8.3.2: the same but for `W/`.
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

    /// All lines of the field together; `nil` where there is none.
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

    /// RFC 9110 section 13.1.2: by weak comparison.
    package func weaklyMatches(_ tag: EntityTag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tag.map { tag in tags.contains { $0.weaklyEquals(tag) } } ?? false
        }
    }

    /// RFC 9110 section 13.1.1: by strong comparison.
    package func stronglyMatches(_ tag: EntityTag?) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tag.map { tag in tags.contains { $0.stronglyEquals(tag) } } ?? false
        }
    }

    /// Commas within quotation marks are part of a tag; there is no escape (RFC 9110 section 8.8.3).
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
