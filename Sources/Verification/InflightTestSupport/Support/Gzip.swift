/// Bodies with a content coding, built bit by bit (RFC 1951, RFC 1952).
package enum Gzip {
    /// Returns `1 + 258 * runs` zero bytes in gzip's format: a literal, and matches of the maximum length.
    package static func zeros(runs: Int) -> [UInt8] {
        var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        var held = 0
        var count = 0
        func put(_ bits: String) {
            for bit in bits {
                held |= (bit == "1" ? 1 : 0) << count
                count += 1
                if count == 8 {
                    bytes.append(UInt8(held))
                    held = 0
                    count = 0
                }
            }
        }
        // Last block, fixed codes; the literal 0.
        put("110" + "00110000")
        // Length 258 at distance 1.
        for _ in 0..<runs { put("11000101" + "00000") }
        put("0000000")
        while count != 0 { put("0") }
        let length = UInt32(1 + 258 * runs)
        for word in [checksum(ofZeros: Int(length)), length] {
            for shift in stride(from: UInt32(0), to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    /// Returns empty deflate blocks.
    package static func emptyBlocks(_ count: Int) -> [UInt8] {
        (0..<count).flatMap { _ in [UInt8]([0, 0, 0, 0xFF, 0xFF]) }
    }

    private static func checksum(ofZeros count: Int) -> UInt32 {
        var sum: UInt32 = 0xFFFF_FFFF
        for _ in 0..<count {
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }
}
