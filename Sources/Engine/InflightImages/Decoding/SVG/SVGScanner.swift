/// Scans the markup of an SVG document, never beyond its limit.
package struct SVGScanner {
    private let bytes: Bytes
    private let limit: Int
    package private(set) var position = 0
    /// The name in the document type declaration, if there is one in the prolog.
    package private(set) var documentType: String?

    package init(_ bytes: Bytes, limit: Int) {
        self.bytes = bytes
        self.limit = limit
        _ = skip("\u{FEFF}")
    }

    package var isAtEnd: Bool { position >= limit }

    /// Skips the declaration, comments, the document type, and the `<` of the first element.
    package mutating func skipProlog() -> Bool {
        while true {
            skipBlanks()
            if skip("<?") {
                guard skip(behind: "?>") else { return false }
            } else if skip("<!--") {
                guard skip(behind: "-->") else { return false }
            } else if skip("<!DOCTYPE") {
                skipBlanks()
                documentType = name()
                guard skipDocumentType() else { return false }
            } else {
                // The last byte may begin one of these, so report the end, and the caller will ask for more.
                if position + 1 >= limit {
                    position = limit
                    return false
                }
                return skip("<")
            }
        }
    }

    /// Declarations in brackets contain their own `>`, also in quotes.
    private mutating func skipDocumentType() -> Bool {
        var depth = 0
        while !isAtEnd {
            if skip("<!--") {
                guard skip(behind: "-->") else { return false }
            } else if skip("<?") {
                guard skip(behind: "?>") else { return false }
            } else if bytes[position] == 0x22 || bytes[position] == 0x27 {
                guard quoted() != nil else { return false }
            } else {
                switch bytes[position] {
                case UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ">") where depth <= 0:
                    position += 1
                    return true
                default: break
                }
                position += 1
            }
        }
        return false
    }

    package mutating func skipBlanks() {
        while !isAtEnd, Self.isBlank(bytes[position]) { position += 1 }
    }

    package mutating func skip(_ text: String) -> Bool {
        guard limit - position >= text.utf8.count, bytes.holds(text, at: position) else { return false }
        position += text.utf8.count
        return true
    }

    /// Skips past the next `text`, or to the end if there is none.
    package mutating func skip(behind text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        while position + length <= limit {
            var index = 0
            while index < length, unsafe bytes[position + index] == text.utf8Start[index] { index += 1 }
            if index == length {
                position += length
                return true
            }
            position += 1
        }
        position = limit
        return false
    }

    /// Returns the name at the current position, if it ends before the limit.
    package mutating func name() -> String? {
        let start = position
        while !isAtEnd, !Self.isBlank(bytes[position]), !Self.endsNames(bytes[position]) { position += 1 }
        guard position > start, !isAtEnd, position - start <= 1000 else { return nil }
        return String(decoding: (start..<position).map { bytes[$0] }, as: UTF8.self)
    }

    package mutating func skipName(_ isWanted: (String) -> Bool) -> Bool {
        name().map(isWanted) ?? false
    }

    /// Skips a quoted text of either kind, and returns the position of its contents.
    package mutating func quoted() -> Range<Int>? {
        guard !isAtEnd, bytes[position] == 0x22 || bytes[position] == 0x27 else { return nil }
        let quote = bytes[position]
        let start = position + 1
        position = start
        while !isAtEnd, bytes[position] != quote { position += 1 }
        guard !isAtEnd else { return nil }
        position += 1
        return start..<position - 1
    }

    /// Skips to the next byte of that value, or to the end if there is none.
    package mutating func skip(to byte: UInt8) -> Bool {
        while !isAtEnd, bytes[position] != byte { position += 1 }
        return !isAtEnd
    }

    package mutating func jump(to position: Int) { self.position = min(max(0, position), limit) }

    package mutating func step() { jump(to: position + 1) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func endsNames(_ byte: UInt8) -> Bool {
        [UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "<"), 0x22, 0x27].contains(byte)
    }
}
