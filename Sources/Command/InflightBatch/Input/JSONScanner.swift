internal import InflightCore

/// A violation of the JSON grammar, or of this reader's limits.
package enum JSONProblem: String, Hashable, Sendable {
    /// A byte that the grammar does not allow here.
    case unexpectedByte = "unexpected character"
    /// The row ends within the value.
    case unexpectedEnd = "unexpected end of the row"
    /// A byte below 0x20 in a string.
    case controlCharacter = "control character in a string"
    /// An unknown escape, or `\u` without four hexadecimal digits.
    case invalidEscape = "invalid escape sequence"
    /// An escaped surrogate without its other half.
    case unpairedSurrogate = "unpaired surrogate"
    /// A leading zero, or missing digits.
    case invalidNumber = "invalid number"
    /// More levels than ``JSONScanner/maximumDepth``.
    case nestedTooDeeply = "nested deeper than 64 levels"
    /// Anything but white space after the value.
    case textAfterValue = "text after the value"
}

/// Validates a JSON value in UTF-8 strictly (RFC 8259), and returns the members of an object as bytes.
///
/// Beyond the grammar, surrogates in escapes must be paired, and arrays and objects nest at most ``maximumDepth`` deep.
struct JSONScanner {
    /// A member of an object.
    struct Member {
        /// The name, without escapes.
        var name: String
        /// The bytes of the value, without white space around it.
        var value: ArraySlice<UInt8>
    }

    /// An error and the index of the byte where it was found.
    struct Failure: Error {
        /// What is wrong.
        var problem: JSONProblem
        /// An index of the bytes given, or their end index.
        var index: Int
    }

    /// The maximum depth of nested arrays and objects, the outermost one included.
    static let maximumDepth = 64

    private let bytes: ArraySlice<UInt8>
    private var index: Int

    private init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    /// Returns the members of the object, or `nil` if the bytes are a valid value that is not an object.
    ///
    /// - Throws: ``Failure`` if the bytes are not one valid JSON value.
    static func members(_ bytes: ArraySlice<UInt8>) throws(Failure) -> [Member]? {
        var scanner = JSONScanner(bytes)
        var members: [Member]?
        scanner.skipSpace()
        if scanner.peek == UInt8(ascii: "{") {
            var list: [Member] = []
            try scanner.skipObject(depth: 1) { list.append($0) }
            members = list
        } else {
            try scanner.skipValue(depth: 0)
        }
        scanner.skipSpace()
        if scanner.peek != nil { throw scanner.failure(.textAfterValue) }
        return members
    }

    /// Returns the text of a valid JSON string, given with its quotes, or `nil` if the bytes are not a string.
    static func text(_ value: ArraySlice<UInt8>) -> String? {
        guard value.count >= 2, value.first == UInt8(ascii: "\"") else { return nil }
        let content = value.dropFirst().dropLast()
        guard content.contains(UInt8(ascii: "\\")) else { return String(decoding: content, as: UTF8.self) }
        var units: [UInt16] = []
        var text = ""
        var rest = content
        func flush() {
            text += String(decoding: units, as: UTF16.self)
            units.removeAll(keepingCapacity: true)
        }
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                let end = rest.firstIndex(of: UInt8(ascii: "\\")) ?? rest.endIndex
                flush()
                text += String(decoding: value[(rest.startIndex - 1)..<end], as: UTF8.self)
                rest = rest[end...]
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "u"):
                units.append(rest.prefix(4).reduce(0) { $0 << 4 | UInt16(Hexadecimal.value($1) ?? 0) })
                rest = rest.dropFirst(4)
            case let byte?: units.append(UInt16(byte))
            case nil: break
            }
        }
        flush()
        return text
    }

    private var peek: UInt8? { index < bytes.endIndex ? bytes[index] : nil }

    private func failure(_ problem: JSONProblem) -> Failure {
        Failure(problem: index < bytes.endIndex ? problem : .unexpectedEnd, index: index)
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A { index += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        index += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(Failure) {
        guard take(byte) else { throw failure(.unexpectedByte) }
    }

    private mutating func skipValue(depth: Int) throws(Failure) {
        guard let byte = peek else { throw failure(.unexpectedEnd) }
        switch byte {
        case UInt8(ascii: "{"): try skipObject(depth: depth + 1) { _ in }
        case UInt8(ascii: "["): try skipArray(depth: depth + 1)
        case UInt8(ascii: "\""): try skipString()
        case UInt8(ascii: "t"): for byte in "true".utf8 { try expect(byte) }
        case UInt8(ascii: "f"): for byte in "false".utf8 { try expect(byte) }
        case UInt8(ascii: "n"): for byte in "null".utf8 { try expect(byte) }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
        default: throw failure(.unexpectedByte)
        }
    }

    /// Skips an object. Names are decoded only for the outermost object.
    private mutating func skipObject(depth: Int, _ member: (Member) -> Void) throws(Failure) {
        guard depth <= Self.maximumDepth else { throw failure(.nestedTooDeeply) }
        try expect(UInt8(ascii: "{"))
        skipSpace()
        if take(UInt8(ascii: "}")) { return }
        repeat {
            skipSpace()
            let nameStart = index
            try skipString()
            let name = bytes[nameStart..<index]
            skipSpace()
            try expect(UInt8(ascii: ":"))
            skipSpace()
            let start = index
            try skipValue(depth: depth)
            if depth == 1 { member(Member(name: Self.text(name) ?? "", value: bytes[start..<index])) }
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"))
    }

    private mutating func skipArray(depth: Int) throws(Failure) {
        guard depth <= Self.maximumDepth else { throw failure(.nestedTooDeeply) }
        try expect(UInt8(ascii: "["))
        skipSpace()
        if take(UInt8(ascii: "]")) { return }
        repeat {
            skipSpace()
            try skipValue(depth: depth)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"))
    }

    private mutating func skipString() throws(Failure) {
        try expect(UInt8(ascii: "\""))
        while let byte = peek {
            if byte < 0x20 { throw failure(.controlCharacter) }
            if byte == UInt8(ascii: "\\") {
                try skipEscape()
                continue
            }
            index += 1
            if byte == UInt8(ascii: "\"") { return }
        }
        throw failure(.unexpectedEnd)
    }

    private mutating func skipEscape() throws(Failure) {
        let start = index
        index += 1
        switch peek {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 1
        case UInt8(ascii: "u"):
            let unit = try readUnit()
            guard UTF16.isSurrogate(unit) else { return }
            guard UTF16.isLeadSurrogate(unit), take(UInt8(ascii: "\\")), peek == UInt8(ascii: "u"),
                UTF16.isTrailSurrogate(try readUnit())
            else { throw Failure(problem: .unpairedSurrogate, index: start) }
        default: throw failure(.invalidEscape)
        }
    }

    /// Reads `u` and four hexadecimal digits.
    private mutating func readUnit() throws(Failure) -> UInt16 {
        index += 1
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Hexadecimal.value(byte) else { throw failure(.invalidEscape) }
            unit = unit << 4 | UInt16(digit)
            index += 1
        }
        return unit
    }

    private mutating func skipNumber() throws(Failure) {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try skipDigits() }
        if take(UInt8(ascii: ".")) { try skipDigits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try skipDigits()
        }
        if let byte = peek, UInt8(ascii: "0") <= byte && byte <= UInt8(ascii: "9") { throw failure(.invalidNumber) }
    }

    private mutating func skipDigits() throws(Failure) {
        let start = index
        while let byte = peek, UInt8(ascii: "0") <= byte && byte <= UInt8(ascii: "9") { index += 1 }
        if index == start { throw failure(.invalidNumber) }
    }
}
