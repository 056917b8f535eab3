/// A digest of a secret with a random key that is stored beside it: HMAC with SHA-256 (RFC 2104).
///
/// A stored value shows whether a secret is the same, but not the secret. The key differs in each entry, so entries of
/// one account cannot be linked, and precomputed tables do not help. A guess at a weak secret can still be tested.
enum KeyedDigest {
    private static let scheme = Array("hmac-sha256:".utf8)
    private static let keyLength = 16
    private static let blockLength = 64

    /// Returns the digest of a secret under a new key, as text.
    static func text(of secret: [UInt8]) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return text(of: secret, key: (0..<keyLength).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// Returns whether `stored` is the digest of a secret.
    static func matches(_ stored: ArraySlice<UInt8>, _ secret: [UInt8]) -> Bool {
        guard stored.starts(with: scheme) else { return false }
        let digits = stored.dropFirst(scheme.count).prefix(2 * keyLength).map { Hexadecimal.value($0) }
        guard digits.count == 2 * keyLength, digits.allSatisfy({ $0 != nil }) else { return false }
        var key = [UInt8](repeating: 0, count: keyLength)
        for (index, digit) in digits.enumerated() { key[index / 2] = key[index / 2] << 4 | (digit ?? 0) }
        return stored.elementsEqual(text(of: secret, key: key))
    }

    private static func text(of secret: [UInt8], key: [UInt8]) -> [UInt8] {
        func hash(_ pad: UInt8, _ message: [UInt8]) -> [UInt8] {
            var hash = SHA256()
            let block = key + [UInt8](repeating: 0, count: blockLength - key.count)
            hash.append(block.map { $0 ^ pad })
            hash.append(message)
            return hash.digest
        }
        let digest = hash(0x5C, hash(0x36, secret))
        return scheme + Array((Hexadecimal.text(key) + ":" + Hexadecimal.text(digest)).utf8)
    }
}
