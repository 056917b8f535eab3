/// Percent-encoding of URLs (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// The bytes that are not encoded in a path. They include the percent sign, so an encoded path does not change.
    static let pathBytes = Set("!$&'()*+,-./:;=@_~%[]".utf8)
    static let queryBytes = pathBytes.union("?{}|^`\\".utf8)

    static func encoded(_ text: some StringProtocol, keeping kept: Set<UInt8>) -> String {
        let needsNothing = text.utf8.allSatisfy { isAlphanumeric($0) || kept.contains($0) }
        return needsNothing ? String(text) : encoded(text.utf8) { isAlphanumeric($0) || kept.contains($0) }
    }

    /// Returns the text of a URL or a reference that was received as bytes.
    ///
    /// If the bytes are not UTF-8, those beyond ASCII are encoded one by one, as browsers do: the server that wrote
    /// them, in whatever charset, expects the same bytes.
    package static func text(ofURL bytes: some Collection<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? encoded(bytes) { $0 < 0x80 }
    }

    private static func encoded(_ source: some Collection<UInt8>, keeping isKept: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count + 16)
        for byte in source {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                Hexadecimal.appendPercentEncoded(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the decoded bytes. A percent sign that is not followed by two hexadecimal digits is kept.
    package static func decodedBytes(_ text: some StringProtocol) -> [UInt8] {
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var position = 0
        while position < source.count {
            if source[position] == UInt8(ascii: "%"), position + 2 < source.count,
                let high = Hexadecimal.value(source[position + 1]), let low = Hexadecimal.value(source[position + 2])
            {
                bytes.append(high << 4 | low)
                position += 3
            } else {
                bytes.append(source[position])
                position += 1
            }
        }
        return bytes
    }

    /// Returns ``decodedBytes(_:)`` as text. Bytes that are not UTF-8 become U+FFFD.
    package static func decoded(_ text: some StringProtocol) -> String {
        String(decoding: decodedBytes(text), as: UTF8.self)
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return (byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x7A)
    }
}
