/// Reads the fields of a JPEG XL codestream, lowest bit of each byte first (ISO/IEC 18181-1, annex B).
struct JPEGXLBits {
    private let bytes: [UInt8]
    private var position = 0
    /// Whether a read exceeded the available bits. Such reads return zero.
    private(set) var isExhausted = false

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Parameter count: at most 32.
    mutating func u(_ count: Int) -> Int {
        guard position + count <= bytes.count * 8 else {
            isExhausted = true
            return 0
        }
        var value = 0
        for bit in 0..<count {
            let place = position + bit
            value |= Int(bytes[place >> 3] >> UInt8(place & 7) & 1) << bit
        }
        position += count
        return value
    }

    mutating func bool() -> Bool { u(1) == 1 }

    mutating func skip(_ count: Int) {
        position = min(position.saturating(plus: count), bytes.count * 8)
        if position == bytes.count * 8, count > 0 { isExhausted = true }
    }

    /// Reads a number in one of four encodings, selected by two bits: a base plus a number of bits.
    mutating func u32(_ ways: (base: Int, bits: Int)...) -> Int {
        let way = ways[u(2)]
        return way.base + u(way.bits)
    }

    mutating func enumeration() -> Int { u32((0, 0), (1, 0), (2, 4), (18, 6)) }

    mutating func u64() -> UInt64 {
        switch u(2) {
        case 0: return 0
        case 1: return 1 + UInt64(u(4))
        case 2: return 17 + UInt64(u(8))
        default: break
        }
        var value = UInt64(u(12))
        var shift: UInt64 = 12
        while bool() {
            let isLast = shift == 60
            value |= UInt64(u(isLast ? 4 : 8)) << shift
            if isLast { break }
            shift += 8
        }
        return value
    }

    /// Skips to the next whole byte.
    mutating func align() { position = (position + 7) & ~7 }
}
