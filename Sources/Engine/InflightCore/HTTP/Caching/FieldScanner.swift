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
