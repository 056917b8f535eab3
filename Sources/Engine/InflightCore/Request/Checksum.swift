/// The expected SHA-256 of a body (FIPS 180-4), for ``ImageRequest/checksum``.
public struct Checksum: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]

    /// Creates a checksum from its text, or returns nil if the text is malformed.
    ///
    /// - Parameter text: `sha256:` and 64 hexadecimal digits, in either case. The prefix is in lower case.
    public init?(_ text: String) {
        let prefix = "sha256:"
        guard text.hasPrefix(prefix) else { return nil }
        let digits = Array(text.utf8.dropFirst(prefix.utf8.count))
        guard digits.count == 64 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 64, by: 2) {
            guard let high = Hexadecimal.value(digits[index]), let low = Hexadecimal.value(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    init(of body: Bytes) {
        var hash = SHA256()
        unsafe body.withUnsafeBytes { unsafe hash.append($0) }
        bytes = hash.digest
    }

    public var description: String {
        "sha256:" + Hexadecimal.text(bytes)
    }
}
