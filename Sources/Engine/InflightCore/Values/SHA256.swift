/// SHA-256 (FIPS 180-4): bytes in, 32 bytes out.
///
/// ```swift
/// var hash = SHA256()
/// hash.append("abc".utf8)
/// hash.hex   // "ba7816bf8f01cfea…"
/// ```
package struct SHA256: Sendable {
    private var state: [UInt32] = [
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]
    /// Up to 63 bytes of an incomplete block.
    private var pending: [UInt8] = []
    private var count: UInt64 = 0
    private var words = [UInt32](repeating: 0, count: 64)

    private static let constants: [UInt32] = [
        0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
        0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
        0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
        0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
        0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
        0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
        0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
        0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]

    package init() {}

    package mutating func append(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            pending.append(byte)
            count &+= 1
            if pending.count == 64 {
                mix()
                pending.removeAll(keepingCapacity: true)
            }
        }
    }

    /// The hash of the bytes appended so far.
    package var digest: [UInt8] {
        var last = self
        let bits = count &* 8
        last.append([0x80])
        while last.pending.count != 56 { last.append([0]) }
        last.append((0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) })
        return last.state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    /// ``digest`` in lower-case hexadecimal digits.
    package var hex: String {
        Hexadecimal.text(digest)
    }

    private mutating func mix() {
        for index in 0..<16 {
            words[index] = (0..<4).reduce(0) { $0 << 8 | UInt32(pending[index * 4 + $1]) }
        }
        for index in 16..<64 {
            let early = words[index - 15]
            let late = words[index - 2]
            let first = Self.rotated(early, 7) ^ Self.rotated(early, 18) ^ (early >> 3)
            let second = Self.rotated(late, 17) ^ Self.rotated(late, 19) ^ (late >> 10)
            words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let fromE = Self.rotated(e, 6) ^ Self.rotated(e, 11) ^ Self.rotated(e, 25)
            let first = h &+ fromE &+ ((e & f) ^ (~e & g)) &+ Self.constants[index] &+ words[index]
            let fromA = Self.rotated(a, 2) ^ Self.rotated(a, 13) ^ Self.rotated(a, 22)
            let second = fromA &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }
}
