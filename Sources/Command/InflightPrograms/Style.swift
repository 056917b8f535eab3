internal import Glibc

/// Bold and coloured text on a terminal, plain text elsewhere or if the user disables colours.
package struct Style: Equatable, Sendable {
    package var isPlain: Bool

    package init(isPlain: Bool) {
        self.isPlain = isPlain
    }

    package static let plain = Style(isPlain: true)

    /// Returns the style for a stream: plain unless it is a terminal with any capabilities and `NO_COLOR` is not set.
    package static func of(_ stream: StandardStream) -> Style {
        let noColor = unsafe getenv("NO_COLOR").map { unsafe $0.pointee != 0 } ?? false
        return Style(isPlain: !stream.isTerminal || noColor || !stream.canMoveCursor)
    }

    package func bold(_ text: String) -> String { wrap(text, "1") }
    package func dim(_ text: String) -> String { wrap(text, "2") }
    package func red(_ text: String) -> String { wrap(text, "31") }
    package func yellow(_ text: String) -> String { wrap(text, "33") }
    package func cyan(_ text: String) -> String { wrap(text, "36") }

    private func wrap(_ text: String, _ code: String) -> String {
        isPlain || text.isEmpty ? text : "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension StandardStream {
    /// Whether this is a terminal that supports more than lines of text.
    package var canMoveCursor: Bool {
        guard isTerminal, let kind = unsafe getenv("TERM") else { return false }
        let name = unsafe String(cString: kind)
        return !name.isEmpty && name != "dumb"
    }
}
