import InflightImages

/// Finds the range of samples in the parameters of HEVC (ITU-T H.265, sections 7.3.2.2 and E.2.1).
enum HEVCRange {
    /// Returns the range, or `nil` if the parameters in `hvcC` do not declare it.
    static func read(_ configuration: HEIFBox, _ bytes: Bytes) -> HEIFRange? {
        // The arrays of parameters follow 22 bytes of fields (ISO/IEC 14496-15 section 8.3.3.1).
        var cursor = HEIFCursor(bytes, configuration.content)
        for _ in 0..<22 where cursor.next(1) == nil { return nil }
        for _ in 0..<(cursor.next(1) ?? 0) {
            guard let type = cursor.next(1), let count = cursor.next(2) else { return nil }
            for _ in 0..<count {
                guard let length = cursor.next(2), length <= cursor.range.count else { return nil }
                let unit = cursor.range.prefix(length)
                if type & 0x3F == 33, length > 2 { return read(unescaped(bytes, unit.dropFirst(2))) }
                cursor.skip(length)
            }
        }
        return nil
    }

    /// Removes the bytes that keep the data from containing a start code.
    private static func unescaped(_ bytes: Bytes, _ range: Range<Int>) -> HEIFBits {
        var found: [UInt8] = []
        var zeros = 0
        // The range precedes everything that takes more than these.
        for index in range.prefix(4096) {
            guard let byte = bytes.byte(at: index) else { break }
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            found.append(UInt8(byte))
        }
        return HEIFBits(Bytes(found), 0..<found.count)
    }

    private static func read(_ parameters: HEIFBits) -> HEIFRange? {
        var bits = parameters
        bits.skip(4)
        let layers = bits.read(3)
        bits.skip(1)
        skipProfile(&bits, layers: layers)
        bits.skipNumbers(1)
        if bits.number() == 3 { bits.skip(1) }
        bits.skipNumbers(2)
        if bits.flag() { bits.skipNumbers(4) }
        bits.skipNumbers(2)
        let counterBits = min(bits.number(), 12) + 4
        let isListed = bits.flag()
        bits.skipNumbers(3 * (isListed ? layers + 1 : 1))
        bits.skipNumbers(6)
        if bits.flag(), bits.flag() { skipScalingLists(&bits) }
        bits.skip(2)
        if bits.flag() {
            bits.skip(8)
            bits.skipNumbers(2)
            bits.skip(1)
        }
        skipReferences(&bits)
        if bits.flag() { bits.skip(min(bits.number(), 32) * (counterBits + 1)) }
        bits.skip(2)
        guard bits.flag() else { return nil }
        // The shape of pixels, and overscan.
        if bits.flag(), bits.read(8) == 255 { bits.skip(32) }
        if bits.flag() { bits.skip(1) }
        guard bits.flag() else { return nil }
        bits.skip(3)
        let isFull = bits.flag()
        var matrix = 2
        if bits.flag() {
            bits.skip(16)
            matrix = bits.read(8)
        }
        return bits.isExhausted ? nil : HEIFRange(isLimited: !isFull, matrix: matrix)
    }

    private static func skipProfile(_ bits: inout HEIFBits, layers: Int) {
        bits.skip(96)
        var lengths: [Int] = []
        for _ in 0..<layers {
            let hasProfile = bits.flag()
            lengths.append((hasProfile ? 88 : 0) + (bits.flag() ? 8 : 0))
        }
        if layers > 0 { bits.skip(2 * (8 - layers)) }
        for length in lengths { bits.skip(length) }
    }

    private static func skipScalingLists(_ bits: inout HEIFBits) {
        for size in 0..<4 {
            for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
                let isCoded = bits.flag()
                bits.skipNumbers(isCoded ? min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0) : 1)
            }
        }
    }

    private static func skipReferences(_ bits: inout HEIFBits) {
        var count = 0
        for set in 0..<min(bits.number(), 65) {
            if set > 0, bits.flag() {
                bits.skip(1)
                bits.skipNumbers(1)
                var next = 0
                for _ in 0...count {
                    // Used now, or else used later.
                    if bits.flag() || bits.flag() { next += 1 }
                }
                count = next
            } else {
                let negative = bits.number()
                count = min(negative + bits.number(), 32)
                for _ in 0..<count {
                    bits.skipNumbers(1)
                    bits.skip(1)
                }
            }
        }
    }
}

extension HEIFBits {
    /// Reads an Exp-Golomb number of at most 32 bits.
    fileprivate mutating func number() -> Int {
        var zeros = 0
        while zeros < 32, !isExhausted, !flag() { zeros += 1 }
        return (1 << zeros) - 1 + read(zeros)
    }

    fileprivate mutating func skipNumbers(_ count: Int) {
        for _ in 0..<count where !isExhausted { _ = number() }
    }
}
