/// Makes untrusted text from servers and libraries safe for messages.
package enum Message {
    private static let maximumCharacters = 300

    /// Returns `text` with control and format characters replaced, cut to a few lines.
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
