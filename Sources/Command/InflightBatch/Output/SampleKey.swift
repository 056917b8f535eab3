internal import CInflightBatch
package import InflightCore

/// A SHA-256 digest.
package struct ContentDigest: Hashable, Sendable {
    /// The 32 bytes of the digest.
    package let bytes: [UInt8]

    /// Creates a digest from its bytes. Returns `nil` unless there are exactly 32.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Computes the digest of bytes, by OpenSSL.
    package init(of bytes: Bytes) {
        var digest = [UInt8](repeating: 0, count: 32)
        let status = unsafe bytes.withUnsafeBytes { unsafe inflight_sha256($0.baseAddress, $0.count, &digest) }
        guard status == 0 else { preconditionFailure("OpenSSL has no memory") }
        self.bytes = digest
    }

    /// The digest in lower-case hexadecimal: 64 digits.
    package var hex: String { Hexadecimal.text(bytes) }
}

/// Keys of samples that come from the input or from digests.
///
/// A key consists of ASCII letters, digits, `_` and `-`, and does not begin with `-`. It has no dots, because readers
/// of WebDataset split a member's name at the first dot.
package enum SampleKey {
    /// The maximum length of a key that is made from an id, in bytes. With the mark of a repeated key and an extension,
    /// the name of a member still fits the 100 bytes of a tar header.
    package static let maximumLength = 80

    /// Returns the key for an id. Equal ids have equal keys. Distinct ids have distinct keys.
    ///
    /// An id is its own key if it may be one, has at most ``maximumLength`` bytes, and does not contain `--`. From any
    /// other, each unsafe byte becomes `_`, and `--` with 128 bits of the id's digest is appended: `a/b.jpg` becomes
    /// `a_b_jpg--6c1b…`.
    ///
    /// - Parameters:
    ///   - id: The bytes of the id column.
    ///   - digest: Returns the SHA-256 of the id. Called only if the id is not its own key.
    package static func key(id: [UInt8], digest: ([UInt8]) -> ContentDigest) -> String {
        if isPlain(id) { return String(decoding: id, as: UTF8.self) }
        let suffix = "--" + digest(id).hex.prefix(32)
        var prefix: [UInt8] = []
        for byte in id.prefix(maximumLength - suffix.utf8.count) {
            let isRepeatedHyphen = byte == UInt8(ascii: "-") && (prefix.isEmpty || prefix.last == byte)
            prefix.append(byte.isKeySafe && !isRepeatedHyphen ? byte : UInt8(ascii: "_"))
        }
        // A hyphen before the suffix would make it ambiguous where the suffix begins.
        if prefix.isEmpty { prefix = [UInt8(ascii: "_")] }
        if prefix.last == UInt8(ascii: "-") { prefix[prefix.count - 1] = UInt8(ascii: "_") }
        return String(decoding: prefix, as: UTF8.self) + suffix
    }

    /// Returns the key for a digest: its 64 hexadecimal digits.
    package static func key(digest: ContentDigest) -> String { digest.hex }

    /// Returns the key of a row: that of its id, or without one that of the digest of its URL and of the options that
    /// affect the image.
    static func key(id: String?, url: String, options: String) -> String {
        guard let id else { return key(digest: ContentDigest(of: Bytes(options + "\n" + url))) }
        return key(id: Array(id.utf8)) { ContentDigest(of: Bytes($0)) }
    }

    /// Returns the key of a row whose key an earlier row of the dataset has: in one archive, both would be read as one
    /// sample. No other row has it, because a key without a mark ends in `--` and 32 digits, or does not contain `--`.
    static func repeated(_ key: String, row: Int) -> String { "\(key)--\(row)" }

    private static func isPlain(_ id: [UInt8]) -> Bool {
        guard !id.isEmpty, id.count <= maximumLength, id[0] != UInt8(ascii: "-") else { return false }
        var previous: UInt8 = 0
        for byte in id {
            guard byte.isKeySafe, byte != UInt8(ascii: "-") || previous != byte else { return false }
            previous = byte
        }
        return true
    }
}
