/// Text in HTML and SVG.
package enum MarkupText {
    /// Returns `text` with the characters escaped that mean something in markup.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            // XML 1.0 does not allow these characters, escaped or not (section 2.2).
            case _ where TerminalText.isUnsafe(scalar): result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
