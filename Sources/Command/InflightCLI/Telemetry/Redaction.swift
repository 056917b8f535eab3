/// Removes secrets from texts that are written into a file for others.
///
/// A value counts as secret if its name looks like one, in a header field or in a parameter of a URL. User names and
/// passwords in URLs are removed, too.
struct Redaction: Sendable {
    static let replacement = "redacted"
    private static let words = [
        "apikey", "accesskey", "authorization", "cookie", "credential", "passwd", "password", "secret", "session",
        "signature", "token",
    ]
    private static let names: Set = ["auth", "hmac", "jwt", "key", "pass", "pwd", "sig"]

    /// The names, in lower case, of the header fields whose values are always secret.
    var fields: Set<String> = []

    /// Returns the value of a header field, or the part of it that is not secret.
    func value(of name: String, _ value: String) -> String {
        if fields.contains(name.lowercased()) || Self.isSecret(name[...]) { return Self.replacement }
        return Self.text(value)
    }

    /// Returns a text, such as a URL, without user names, passwords and the values of secret parameters.
    static func text(_ text: String) -> String {
        // Scalars, because a delimiter and a combining mark after it are one character.
        var rest = (text.contains("//") ? RedactedText.withoutUser(text) : text).unicodeScalars[...]
        var result = String.UnicodeScalarView()
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].lastIndex { "?&;#~,/ <\"".unicodeScalars.contains($0) }
            let isNamedSecret = isSecret(
                Substring(rest[..<equals][(name.map(rest.index(after:)) ?? rest.startIndex)...]))
            result += rest[...equals]
            rest = rest[rest.index(after: equals)...]
            let value = rest.prefix { !"&# \">".unicodeScalars.contains($0) }
            if isNamedSecret || containsSecret(Substring(value)) {
                result += replacement.unicodeScalars
                rest = rest[value.endIndex...]
            }
        }
        return String(result + rest)
    }

    /// Whether a value is a percent-encoded URL with a secret parameter.
    private static func containsSecret(_ value: Substring) -> Bool {
        var decoded = value.lowercased()
        guard decoded.contains("%3d") else { return false }
        for (code, character) in [("%3d", "="), ("%26", "&"), ("%3f", "?")] {
            decoded = decoded.replacing(code, with: character)
        }
        return text(decoded) != decoded
    }

    /// Whether the value of a parameter or a header field with this name is secret.
    private static func isSecret(_ name: Substring) -> Bool {
        let letters = name.lowercased().filter { $0.isLetter || $0.isNumber }
        return names.contains(letters) || words.contains { letters.contains($0) }
    }
}
