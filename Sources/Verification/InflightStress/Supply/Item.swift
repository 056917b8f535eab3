import InflightCore

/// An item to load. Its contents are derived from its number, so that every response can be attributed to its item.
struct Item: Sendable, Hashable {
    enum Kind {
        case plain
        /// A redirect leads to the item.
        case moved
        /// The item's response varies by the field `X-Theme`, and declares that.
        case varying
        /// The status is 404.
        case missing
        /// The connection breaks in the middle of the body.
        case broken
    }

    static let count = 50
    /// The fallback of items that fail, which is a plain one.
    static let fallback = Item(number: 0)
    static let all = (0..<count).map(Item.init)
    /// The field by which responses vary, and its values.
    static let field = "X-Theme"
    static let themes = ["none", "dark", "light"]

    let number: Int

    var kind: Kind {
        switch number % 10 {
        case 6: .moved
        case 7: .varying
        case 8: .missing
        case 9: .broken
        default: .plain
        }
    }

    var path: String { "/\(number)" }
    /// The path of the target if a redirect leads to it.
    var targetPath: String { "/target/\(number)" }

    /// Creates an item from the number in a path.
    init?(path: Substring) {
        guard let number = path.split(separator: "/").last.flatMap({ Int($0) }), number < Self.count else { return nil }
        self.number = number
    }

    init(number: Int) {
        self.number = number
    }

    /// Returns the body of the item: PNG's signature, so that the format is recognized, width, height, number, theme,
    /// and padding.
    func body(theme: Int) -> Bytes { Self.bodies[number * Self.themes.count + theme] }

    private static let bodies = all.flatMap { item in
        themes.indices.map { theme in
            let count = 1 + item.number * 13 % 90
            return Bytes(
                [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 2, 1, UInt8(item.number), UInt8(theme)]
                    + [UInt8](repeating: UInt8(item.number), count: count))
        }
    }
}
