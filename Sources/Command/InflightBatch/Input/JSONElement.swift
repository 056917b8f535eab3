/// Finds the end of an element of a JSON array, byte by byte, without validating it.
///
/// Brackets and strings show where an element ends, also one that ``JSONScanner`` will reject. An element in which they
/// contradict one another is damaged: it hides where it ends, and ``Gap`` finds the next one.
struct JSONElement {
    /// What a byte means for the element.
    enum Answer {
        /// The element continues behind the byte.
        case isOpen
        /// The byte is the last one.
        case ended
        /// The byte does not belong to the element.
        case endedBefore
        /// The byte shows that a quote or a bracket is missing before it.
        case isDamaged
    }

    /// Finds the next element behind a damaged one: an object behind a closing bracket and a comma.
    struct Gap {
        private var previous: UInt8 = 0

        /// Scans a byte. Returns whether an element begins with it.
        mutating func scan(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: return false
            case UInt8(ascii: ","): previous = previous == UInt8(ascii: "}") ? byte : 0
            case UInt8(ascii: "]"): previous = UInt8(ascii: "}")
            case UInt8(ascii: "{"): return previous == UInt8(ascii: ",")
            default: previous = byte
            }
            return false
        }
    }

    /// What the last string says of the next element, if its closing quote is missing.
    private(set) var gap = Gap()
    /// The number of bytes since one of the last string with which the next element begins if the quote is missing.
    private(set) var bytesSinceNext: Int?
    private var depth = 0
    /// One bit for each open bracket, the innermost one lowest: 1 for an object. Deeper elements are rejected.
    private var objects: UInt64 = 0
    /// The last byte that is not white space: a quote after a string.
    private var previous: UInt8 = 0
    private var isInString = false
    private var isEscape = false

    /// Scans the next byte.
    mutating func scan(_ byte: UInt8) -> Answer {
        bytesSinceNext = bytesSinceNext.map { $0 + 1 }
        if isInString { return scanString(byte) }
        let isObject = objects & 1 == 1
        switch byte {
        case 0x20, 0x09, 0x0A, 0x0D: return depth == 0 ? .endedBefore : .isOpen
        case UInt8(ascii: ","):
            if depth == 0 { return .endedBefore }
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            if depth == 0, byte == UInt8(ascii: "]") { return .endedBefore }
            guard depth > 0, isObject == (byte == UInt8(ascii: "}")) else {
                // A brace is missing before the end of the array.
                if depth == 1, byte == UInt8(ascii: "]") { return .endedBefore }
                (gap, bytesSinceNext) = (Gap(), nil)
                return .isDamaged
            }
            depth -= 1
            objects >>= 1
            if depth == 0 { return .ended }
        case UInt8(ascii: ":") where previous == UInt8(ascii: "\""): break
        case _ where previous == UInt8(ascii: "\""):
            gap = Gap()
            return .isDamaged
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            // Where a name belongs, the next element begins: the brace of this one is missing.
            let lacksName = isObject && (previous == UInt8(ascii: ",") || previous == UInt8(ascii: "{"))
            if lacksName, byte == UInt8(ascii: "{") { return .endedBefore }
            guard depth < JSONScanner.maximumDepth else {
                (gap, bytesSinceNext) = (Gap(), nil)
                return .isDamaged
            }
            depth += 1
            objects = objects << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
        case UInt8(ascii: "\""):
            (isInString, gap, bytesSinceNext) = (true, Gap(), nil)
        default: break
        }
        previous = byte
        return .isOpen
    }

    private mutating func scanString(_ byte: UInt8) -> Answer {
        // Strings have no line breaks, so a closing quote is missing.
        if byte == UInt8(ascii: "\n") { return .isDamaged }
        if gap.scan(byte) { bytesSinceNext = 0 }
        if isEscape {
            isEscape = false
        } else if byte == UInt8(ascii: "\\") {
            isEscape = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
            if depth == 0 { return .ended }
        }
        return .isOpen
    }
}
