/// SHA-256 (FIPS 180-4): bytes in, 32 bytes out.
///
/// ```swift
/// var hash = SHA256()
/// hash.append("abc".utf8)
/// hash.hex   // "ba7816bf8f01cfea…"
/// ```
package struct SHA256: Sendable {
    private static let blockLength = 64

    private var state: InlineArray<8, UInt32> = [
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]
    /// The beginning of an incomplete block.
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    private static let constants: InlineArray<64, UInt32> = [
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

    package mutating func append(_ bytes: some Collection<UInt8>) {
        if bytes.withContiguousStorageIfAvailable({ unsafe append(UnsafeRawBufferPointer($0)) }) == nil {
            append(Array(bytes))
        }
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        count &+= UInt64(bytes.count)
        var rest = unsafe bytes[...]
        if !pending.isEmpty {
            let missing = unsafe rest.prefix(Self.blockLength - pending.count)
            unsafe pending.append(contentsOf: missing)
            unsafe rest = rest.dropFirst(missing.count)
            guard pending.count == Self.blockLength else { return }
            unsafe pending.withUnsafeBytes { unsafe mix($0) }
            pending.removeAll(keepingCapacity: true)
        }
        while unsafe rest.count >= Self.blockLength {
            unsafe mix(UnsafeRawBufferPointer(rebasing: rest.prefix(Self.blockLength)))
            unsafe rest = rest.dropFirst(Self.blockLength)
        }
        unsafe pending.append(contentsOf: rest)
    }

    /// The hash of the bytes appended so far.
    package var digest: [UInt8] {
        // A one bit, zeros, and the length in bits as a number of eight bytes fill the last block.
        let zeros = (2 * Self.blockLength - 9 - pending.count) % Self.blockLength
        let bits = count &* 8
        var padding = [UInt8](repeating: 0, count: 1 + zeros + 8)
        padding[0] = 0x80
        for index in 0..<8 { padding[1 + zeros + index] = UInt8(truncatingIfNeeded: bits >> (56 - 8 * index)) }
        var last = self
        last.append(padding)
        return (0..<32).map { UInt8(truncatingIfNeeded: last.state[$0 / 4] >> (24 - 8 * ($0 % 4))) }
    }

    /// ``digest`` in lower-case hexadecimal digits.
    package var hex: String {
        Hexadecimal.text(digest)
    }

    /// Mixes in one block.
    private mutating func mix(_ block: UnsafeRawBufferPointer) {
        // The last 16 words of the schedule.
        var words = InlineArray<16, UInt32> { index in
            unsafe block.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self).bigEndian
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            if index >= 16 {
                let early = words[(index &+ 1) & 15]
                let late = words[(index &+ 14) & 15]
                let first = Self.rotated(early, 7) ^ Self.rotated(early, 18) ^ (early &>> 3)
                let second = Self.rotated(late, 17) ^ Self.rotated(late, 19) ^ (late &>> 10)
                words[index & 15] &+= first &+ words[(index &+ 9) & 15] &+ second
            }
            let fromE = Self.rotated(e, 6) ^ Self.rotated(e, 11) ^ Self.rotated(e, 25)
            let first = h &+ fromE &+ ((e & f) ^ (~e & g)) &+ Self.constants[index] &+ words[index & 15]
            let fromA = Self.rotated(a, 2) ^ Self.rotated(a, 13) ^ Self.rotated(a, 22)
            let second = fromA &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
        state[5] &+= f
        state[6] &+= g
        state[7] &+= h
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word &>> count | word &<< (32 &- count)
    }
}
