/// The start tag of an SVG document's first element: its position and its attributes (XML 1.0 sections 2.8 and 3.1).
///
/// Entities are not resolved. Only the document's first ``maximumBytes`` are searched.
package struct SVGRoot {
    package struct Attribute {
        package let name: String
        /// The position of the value, without the quotes.
        package let value: Range<Int>
    }

    package private(set) var attributes: [Attribute] = []
    /// The position of the closing `>` or `/>`.
    package private(set) var end = 0..<0

    package enum Finding {
        case root(SVGRoot)
        /// The bytes end before the tag does.
        case needsMore
        /// The first element is not `svg`, or this is not XML.
        case damaged
    }

    /// The maximum length of everything up to the end of the tag, in bytes.
    package static let maximumBytes = 1 << 18

    package static func find(in bytes: Bytes) -> Finding {
        var scanner = SVGScanner(bytes, limit: min(bytes.count, maximumBytes))
        let isPossible = scanner.skipProlog() && scanner.skipName { $0 == "svg" || $0.hasSuffix(":svg") }
        var root = SVGRoot()
        if isPossible, root.readAttributes(&scanner) { return .root(root) }
        // A final slash may be the first half of `/>`.
        let isCut = scanner.isAtEnd || (scanner.position == bytes.count - 1 && bytes[bytes.count - 1] == 0x2F)
        return isCut && bytes.count < maximumBytes ? .needsMore : .damaged
    }

    package init() {}

    /// Reads the attributes and the end of a start tag behind its name. Returns whether it is complete and valid.
    package mutating func readAttributes(_ scanner: inout SVGScanner) -> Bool {
        while true {
            scanner.skipBlanks()
            let start = scanner.position
            if scanner.skip("/>") || scanner.skip(">") {
                end = start..<scanner.position
                return true
            }
            guard let name = scanner.name(), attributes.count < 1000 else { return false }
            scanner.skipBlanks()
            guard scanner.skip("=") else { return false }
            scanner.skipBlanks()
            guard let value = scanner.quoted() else { return false }
            attributes.append(Attribute(name: name, value: value))
        }
    }

    package func value(of name: String, in bytes: Bytes) -> String? {
        guard let attribute = attributes.first(where: { $0.name == name }), attribute.value.count <= 1 << 16 else {
            return nil
        }
        return String(decoding: attribute.value.map { bytes[$0] }, as: UTF8.self)
    }
}
