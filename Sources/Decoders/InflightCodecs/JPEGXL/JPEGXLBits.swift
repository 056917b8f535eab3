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
}
