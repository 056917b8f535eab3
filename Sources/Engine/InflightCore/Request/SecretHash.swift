/// A keyed hash of 128 bits for values that keys must not contain as they are: passwords, cookies, tokens, bodies.
///
/// Two runs of the standard library's SipHash, each with its own secret, which is drawn once per process.
/// Without the secrets it is not possible to find two values with one hash, nor to test guesses.
struct SecretHash {
    private static let secrets: (UInt64, UInt64, UInt64, UInt64) = {
        var generator = SystemRandomNumberGenerator()
        return (generator.next(), generator.next(), generator.next(), generator.next())
    }()

    static func append(_ value: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        let value = Array(value)
        append(half(value, secrets.0, secrets.1), to: &bytes)
        append(half(value, secrets.2, secrets.3), to: &bytes)
    }

    private static func half(_ value: [UInt8], _ first: UInt64, _ second: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(first)
        hasher.combine(second)
        unsafe value.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
    }
}
