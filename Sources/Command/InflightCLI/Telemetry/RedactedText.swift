import Inflight
import InflightCore

/// A command line that may be shown to others: secrets are removed, and the rest can be typed again.
enum RedactedText {
    /// - Parameter arguments: The arguments without the program's name.
    static func text(_ arguments: [String]) -> String {
        var words = ["inflight"]
        var hidden: Set<Int> = []
        for (index, argument) in arguments.enumerated() {
            switch argument {
            case "--header": hidden.insert(index + 1)
            case "--header-for": hidden.insert(index + 2)
            default: break
            }
            words.append(quoted(hidden.contains(index) ? withoutValue(argument) : withoutSecrets(argument)))
        }
        return words.joined(separator: " ")
    }

    private static func withoutSecrets(_ argument: String) -> String {
        for option in ["--header=", "--header-for="] where argument.hasPrefix(option) {
            return option + withoutValue(String(argument.dropFirst(option.count)))
        }
        return withoutUser(argument)
    }

    /// Returns a URL, even an invalid one, without user name and password, and otherwise unchanged.
    static func withoutUser(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        let slashes = text.firstRange(of: "//")
        // With a known scheme, an at sign after the authority does not end a secret; nor does one in `data:`.
        if let url = try? ResourceURL(text), url.userInfo == nil, slashes != nil || url.scheme == "data" { return text }
        var start = slashes?.upperBound ?? text.startIndex
        if text[..<start].contains("@") { start = text.startIndex }
        let rest = text[start...]
        var end = rest.firstIndex { "/?#\\".contains($0) } ?? rest.endIndex
        // A password that was not encoded may contain a delimiter. A name alone, as in `logo@2x.png`, is no secret.
        if (try? ResourceURL(text))?.userInfo == nil {
            guard slashes != nil || rest[..<end].contains(":") else { return text }
            if rest[..<end].contains(":") { end = rest.endIndex }
        }
        guard let at = rest[..<end].lastIndex(of: "@") else { return text }
        return "\(text[..<start])\(text[text.index(after: at)...])"
    }

    /// Returns the name of a field. Its value may be a secret.
    private static func withoutValue(_ header: String) -> String {
        guard let colon = header.firstIndex(of: ":") else { return "…" }
        return "\(header[..<colon]): …"
    }

    private static func quoted(_ word: String) -> String {
        let plain = "-_./:=,+@%#?&~"
        let isPlain =
            !word.isEmpty
            && word.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || ("0"..."9").contains($0) || plain.unicodeScalars.contains($0)
            }
        // A shell would interpret these characters.
        if isPlain, !word.contains(where: { "?&#~".contains($0) }) { return word }
        return "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}
