/// The expected SHA-256 of a body (FIPS 180-4), for ``ImageRequest/checksum``.
public struct Checksum: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]

    /// Creates a checksum from its text, or returns nil if the text is malformed.
    ///
    /// - Parameter text: `sha256:` and 64 hexadecimal digits, in either case. The prefix is in lower case.
    public init?(_ text: String) {
        let prefix = "sha256:"
        guard text.hasPrefix(prefix), let bytes = Hexadecimal.bytes(text.utf8.dropFirst(prefix.utf8.count)),
            bytes.count == 32
        else { return nil }
        self.bytes = bytes
    }

    init(of body: Bytes) {
        var hash = SHA256()
        unsafe body.withUnsafeBytes { unsafe hash.append($0) }
        bytes = hash.digest
    }

    init(of body: BodyFile) throws(PosixError) {
        var hash = SHA256()
        try unsafe body.file.forEachPiece(body.count) { (piece) throws(PosixError) in unsafe hash.append(piece) }
        bytes = hash.digest
    }

    public var description: String {
        "sha256:" + Hexadecimal.text(bytes)
    }
}
