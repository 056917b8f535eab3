/// Text from a server or a library, made fit for a message.
package enum Message {
    private static let maximumCharacters = 300

    /// `text` without control characters, in either of their two ranges, and not longer than a few lines.
    package static func cleaned(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(maximumCharacters) {
            let isControl =
                scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
            scalars.append(isControl ? "?" : scalar)
        }
        return String(scalars)
    }
}
