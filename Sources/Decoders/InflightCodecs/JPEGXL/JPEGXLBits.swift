/// Reads the fields of a JPEG XL codestream, whose bits run from the lowest of each byte on (ISO/IEC 18181-1, annex B).
struct JPEGXLBits {
    private let bytes: [UInt8]
    private var position = 0
    /// Whether more was asked for than is there; what was read since then is zero.
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

    /// One of four ways to write a number, chosen by two bits: a base, and so many bits that are added to it.
    mutating func u32(_ ways: (base: Int, bits: Int)...) -> Int {
        let way = ways[u(2)]
        return way.base + u(way.bits)
    }

    mutating func enumeration() -> Int { u32((0, 0), (1, 0), (2, 4), (18, 6)) }
}
