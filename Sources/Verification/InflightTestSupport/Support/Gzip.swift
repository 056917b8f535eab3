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
        return bytes + trailer(repeatElement(0, count: 1 + 258 * runs))
    }

    /// Returns `content` in gzip's format, in blocks without compression.
    package static func stored(_ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        for start in stride(from: 0, to: max(1, content.count), by: 0xFFFF) {
            let block = content[start..<min(start + 0xFFFF, content.count)]
            let length = UInt16(block.count)
            bytes.append(block.endIndex == content.count ? 1 : 0)
            for word in [length, ~length] { bytes += [UInt8(word & 0xFF), UInt8(word >> 8)] }
            bytes += block
        }
        return bytes + trailer(content)
    }

    /// Returns empty deflate blocks.
    package static func emptyBlocks(_ count: Int) -> [UInt8] {
        (0..<count).flatMap { _ in [UInt8]([0, 0, 0, 0xFF, 0xFF]) }
    }

    /// Returns the checksum and the length of `content`.
    private static func trailer(_ content: some Collection<UInt8>) -> [UInt8] {
        var sum: UInt32 = 0xFFFF_FFFF
        for byte in content {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return [~sum, UInt32(truncatingIfNeeded: content.count)].flatMap { word in
            stride(from: UInt32(0), to: 32, by: 8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }
}
