/// The start tag of an SVG document's first element: where it stands, and its attributes (XML 1.0 sections 2.8 and 3.1).
///
/// Entities are not resolved. It is looked for in the document's first ``mostBytes`` alone.
package struct SVGRoot {
    package struct Attribute {
        package let name: String
        /// Where its value stands, without the quotes.
        package let value: Range<Int>
    }

    package private(set) var attributes: [Attribute] = []
    /// The `>` or `/>` at its end.
    package private(set) var end = 0..<0

    package enum Finding {
        case root(SVGRoot)
        /// The bytes end before it does.
        case needsMore
        /// It is none, or no XML.
        case damaged
    }

    /// What may stand in front, and the tag itself, together.
    package static let mostBytes = 1 << 18

    package static func find(in bytes: Bytes) -> Finding {
        var scanner = SVGScanner(bytes, limit: min(bytes.count, mostBytes))
        let isPossible = scanner.skipProlog() && scanner.skipName { $0 == "svg" || $0.hasSuffix(":svg") }
        var root = SVGRoot()
        if isPossible, root.readAttributes(&scanner) { return .root(root) }
        // A slash may be the first half of the end.
        let isCut = scanner.isAtEnd || (scanner.position == bytes.count - 1 && bytes[bytes.count - 1] == 0x2F)
        return isCut && bytes.count < mostBytes ? .needsMore : .damaged
    }

    private mutating func readAttributes(_ scanner: inout SVGScanner) -> Bool {
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
