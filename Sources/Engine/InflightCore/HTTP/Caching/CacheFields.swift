/// A parser for the values of HTTP fields (RFC 9110 section 5.6). It never traps, whatever the bytes.
struct FieldScanner {
    /// `name`, `name=value` or `name="value"`, as in lists of directives.
    struct Directive {
        enum Argument: Equatable {
            case none
            case value(ArraySlice<UInt8>)
            /// There is an argument, but its meaning is unknown.
            case malformed
        }

        /// The name in lower case.
        var name: String
        var argument: Argument
        /// Whether it follows a quotation mark that is not closed, so that only restrictive directives may count.
        var isDoubtful: Bool
    }

    private(set) var rest: ArraySlice<UInt8>
    private var isDoubtful = false

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// Returns the next directive of a list. Empty members are skipped (RFC 9110 section 5.6.1.2).
    mutating func nextDirective() -> Directive? {
        while let byte = rest.first, byte == .comma || byte.isBlank { rest.removeFirst() }
        guard !rest.isEmpty else { return nil }
        let nameEnd = rest.firstIndex { $0 == .comma || $0 == .equals || $0 == .quote } ?? rest.endIndex
        let rawName = rest[..<nameEnd]
        let name = String(decoding: Self.trimmed(rawName).map(\.asciiLowercased), as: UTF8.self)
        let wasDoubtful = isDoubtful
        rest = rest[nameEnd...]
        var argument = Directive.Argument.none
        if rest.first == .quote {
            // A quoted string is not allowed here. It hides its commas, and its meaning is unknown.
            argument = .malformed
            _ = quotedString()
            skipMember()
        } else if rest.first == .equals {
            rest.removeFirst()
            // White space around `=` is not part of the grammar, so the sender may have meant something else.
            let isTorn = rawName.last?.isBlank ?? true || rest.first?.isBlank ?? true
            let value = argumentValue()
            argument = isTorn ? .malformed : value
        }
        return Directive(name: name, argument: argument, isDoubtful: wasDoubtful)
    }

    private mutating func argumentValue() -> Directive.Argument {
        while let byte = rest.first, byte.isBlank { rest.removeFirst() }
        guard rest.first == .quote else {
            let end = rest.firstIndex(of: .comma) ?? rest.endIndex
            let value = Self.trimmed(rest[..<end])
            rest = rest[end...]
            return value.isEmpty || value.contains(.quote) ? .malformed : .value(value)
        }
        guard let value = quotedString() else { return .malformed }
        return skipMember() ? .value(value) : .malformed
    }

    /// Parses a quoted string (RFC 9110 section 5.6.4). If it is not closed, the rest is parsed as doubtful directives.
    private mutating func quotedString() -> ArraySlice<UInt8>? {
        let inside = rest.dropFirst()
        var value: [UInt8] = []
        var index = inside.startIndex
        while index < inside.endIndex, inside[index] != .quote {
            if inside[index] == .backslash, index + 1 < inside.endIndex { index += 1 }
            value.append(inside[index])
            index += 1
        }
        guard index < inside.endIndex else {
            rest = inside
            isDoubtful = true
            return nil
        }
        rest = inside[(index + 1)...]
        return value[...]
    }

    /// Skips to the next comma. Returns whether there was only white space.
    @discardableResult
    private mutating func skipMember() -> Bool {
        guard !isDoubtful else { return false }
        let end = rest.firstIndex(of: .comma) ?? rest.endIndex
        let isClean = rest[..<end].allSatisfy(\.isBlank)
        rest = rest[end...]
        return isClean
    }

    /// Returns the bytes without spaces and tabs at both ends.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let first = bytes.first, first.isBlank { bytes.removeFirst() }
        while let last = bytes.last, last.isBlank { bytes.removeLast() }
        return bytes
    }

    /// Returns the members of a list of names, in lower case, without empty ones.
    static func names(_ bytes: ArraySlice<UInt8>) -> [String] {
        bytes.split(separator: .comma).map { trimmed($0) }.filter { !$0.isEmpty }
            .map { String(decoding: $0.map(\.asciiLowercased), as: UTF8.self) }
    }

    /// Parses a number of digits only; `Int64.max` on overflow.
    static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard !bytes.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in bytes {
            guard byte.isDigit else { return nil }
            let scaled = number.multipliedReportingOverflow(by: 10)
            let sum = scaled.partialValue.addingReportingOverflow(Int64(byte - 0x30))
            number = scaled.overflow || sum.overflow ? .max : sum.partialValue
            if number == .max { return bytes.allSatisfy(\.isDigit) ? .max : nil }
        }
        return number
    }

    /// Parses a number of seconds (RFC 9111 section 1.2.2). Numbers above 2^31 become 2^31.
    static func seconds(_ bytes: ArraySlice<UInt8>) -> Int64? {
        number(bytes).map { min($0, 1 << 31) }
    }
}

extension UInt8 {
    static let comma = UInt8(ascii: ",")
    static let equals = UInt8(ascii: "=")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let dash = UInt8(ascii: "-")
    static let slash = UInt8(ascii: "/")

    /// Whether the byte is a space or a tab, the white space allowed within a field (RFC 9110 section 5.6.3).
    var isBlank: Bool { self == 0x20 || self == 0x09 }
    var isDigit: Bool { self >= 0x30 && self <= 0x39 }
}

/// The `Cache-Control` directives of a request or a response (RFC 9111 section 5.2, RFC 5861, RFC 8246).
///
/// All lines of the field form one list. If a directive is repeated, the first one counts (section 4.2.1). A malformed
/// argument is read as the more restrictive value: `max-age` as 0, `no-cache="` as `no-cache`. Directives that restrict
/// only shared caches (`private`, `s-maxage`, `proxy-revalidate`) restrict nothing here.
package struct CacheControl: Hashable, Sendable {
    /// The value in seconds, like all others.
    package var maxAge: Int64?
    /// The value in seconds; `Int64.max` if the request accepts any age.
    package var maxStale: Int64?
    package var minFresh: Int64?
    package var staleWhileRevalidate: Int64?
    package var staleIfError: Int64?
    /// Whether `no-cache` has no field names, so that the response must not be used without revalidation.
    package var noCache = false
    /// The names of the header fields, in lower case, to which `no-cache` is limited.
    package var noCacheFields: Set<String> = []
    package var noStore = false
    package var onlyIfCached = false
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isPublic = false
    package var isPrivate = false
    package var isImmutable = false

    /// Whether the response must not be stored, considering `must-understand` (RFC 9111 sections 5.2.2.3 and 5.2.2.5).
    var forbidsStoring: Bool { noStore && !mustUnderstand }

    package init() {}

    package init(_ fields: HTTPFields) {
        for line in fields.rawValues("cache-control") {
            var scanner = FieldScanner(line)
            while let directive = scanner.nextDirective() { read(directive) }
        }
    }

    /// Reads a request's directives. `Pragma: no-cache` counts if there is no `Cache-Control` (RFC 9111 section 5.4).
    package init(request fields: HTTPFields) {
        self.init(fields)
        guard !fields.contains("cache-control") else { return }
        for line in fields.rawValues("pragma") {
            var scanner = FieldScanner(line)
            while let directive = scanner.nextDirective() {
                if directive.name == "no-cache" { noCache = true }
            }
        }
    }

    private mutating func read(_ directive: FieldScanner.Directive) {
        switch directive.name {
        case "no-store": noStore = true
        case "no-cache": readNoCache(directive.argument)
        case "must-revalidate": mustRevalidate = true
        case "private": isPrivate = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": if maxAge == nil { maxAge = directive.isDoubtful ? 0 : seconds(directive) ?? 0 }
        case "min-fresh": if minFresh == nil { minFresh = seconds(directive) ?? 1 << 31 }
        default: if !directive.isDoubtful { readPermission(directive) }
        }
    }

    /// Reads a directive that allows more than its absence would.
    private mutating func readPermission(_ directive: FieldScanner.Directive) {
        switch directive.name {
        case "max-stale":
            if maxStale == nil { maxStale = directive.argument == .none ? .max : seconds(directive) ?? 0 }
        case "stale-while-revalidate":
            if staleWhileRevalidate == nil { staleWhileRevalidate = seconds(directive) ?? 0 }
        case "stale-if-error": if staleIfError == nil { staleIfError = seconds(directive) ?? 0 }
        case "public": isPublic = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        default: break
        }
    }

    private mutating func readNoCache(_ argument: FieldScanner.Directive.Argument) {
        guard case .value(let names) = argument else {
            noCache = true
            return
        }
        let list = FieldScanner.names(names)
        noCacheFields.formUnion(list)
        if list.isEmpty { noCache = true }
    }

    private func seconds(_ directive: FieldScanner.Directive) -> Int64? {
        guard case .value(let value) = directive.argument else { return nil }
        return FieldScanner.seconds(value)
    }
}

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
