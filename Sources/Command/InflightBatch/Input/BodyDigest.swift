internal import CInflightBatch
package import InflightCore

/// The digest that a row of the input states for the body of its URL.
package struct BodyDigest: Hashable, Sendable {
    /// The function of a digest.
    package enum Function: String, CaseIterable, Sendable {
        case sha256, md5

        /// The name for messages.
        var name: String { self == .sha256 ? "SHA-256" : "MD5" }

        /// The number of hexadecimal digits.
        var digitCount: Int { self == .sha256 ? 64 : 32 }
    }

    /// The function.
    package let function: Function
    /// The digest in hexadecimal digits, in lower case.
    package let hex: String

    /// Creates a digest. Returns `nil` if the text is neither hexadecimal nor base64 digits of the right number.
    package init?(_ function: Function, text: String) {
        self.function = function
        if text.utf8.count == function.digitCount, text.utf8.allSatisfy({ Hexadecimal.value($0) != nil }) {
            hex = text.lowercased()
        } else if let bytes = Base64.decoded(Array(text.utf8)), bytes.count == function.digitCount / 2 {
            hex = Hexadecimal.text(bytes)
        } else {
            return nil
        }
    }

    /// Computes the digest of a body, by OpenSSL.
    package init(_ function: Function, of body: Bytes) {
        self.function = function
        switch function {
        case .sha256: hex = ContentDigest(of: body).hex
        case .md5:
            var digest = [UInt8](repeating: 0, count: 16)
            let status = unsafe body.withUnsafeBytes { unsafe inflight_md5($0.baseAddress, $0.count, &digest) }
            guard status == 0 else { preconditionFailure("OpenSSL has no MD5") }
            hex = Hexadecimal.text(digest)
        }
    }
}
