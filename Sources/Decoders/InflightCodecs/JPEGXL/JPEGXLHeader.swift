/// The header of a JPEG XL codestream: `SizeHeader` and `ImageMetadata` (ISO/IEC 18181-1, annexes C and D).
struct JPEGXLHeader {
    var width = 0
    var height = 0
    var orientation = 1
    var bitsPerSample = 8
    var hasAlpha = false
    var isGray = false
    var isAnimated = false

    enum Reading {
        case header(JPEGXLHeader)
        case needsMore
        case damaged
    }

    /// - Parameter bytes: the codestream or its start, from the signature on.
    static func read(_ bytes: [UInt8]) -> Reading {
        guard bytes.count >= 2 else { return .needsMore }
        guard bytes[0] == 0xFF, bytes[1] == 0x0A else { return .damaged }
        var bits = JPEGXLBits(Array(bytes.dropFirst(2)))
        var header = JPEGXLHeader()
        (header.width, header.height) = size(&bits)
        let isWhole = header.readMetadata(&bits)
        if bits.isExhausted { return .needsMore }
        return isWhole ? .header(header) : .damaged
    }

    private static func size(_ bits: inout JPEGXLBits) -> (Int, Int) {
        let isSmall = bits.bool()
        func side(_ bits: inout JPEGXLBits) -> Int {
            isSmall ? 8 * (1 + bits.u(5)) : bits.u32((1, 9), (1, 13), (1, 18), (1, 30))
        }
        let height = side(&bits)
        let ratio = bits.u(3)
        return (ratio == 0 ? side(&bits) : width(height, ratio), height)
    }

    private static func width(_ height: Int, _ ratio: Int) -> Int {
        let (over, under) = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)][ratio - 1]
        return height * over / under
    }

    /// Returns whether the metadata is valid.
    private mutating func readMetadata(_ bits: inout JPEGXLBits) -> Bool {
        if bits.bool() { return true }
        if bits.bool() {
            orientation = 1 + bits.u(3)
            // The intrinsic size, which viewers ignore.
            if bits.bool() { _ = Self.size(&bits) }
            if bits.bool() { Self.skipPreview(&bits) }
            isAnimated = bits.bool()
            if isAnimated { Self.skipAnimation(&bits) }
        }
        bitsPerSample = Self.depth(&bits)
        _ = bits.bool()
        let channels = bits.u32((0, 0), (1, 0), (2, 4), (1, 12))
        for _ in 0..<channels {
            guard !bits.isExhausted else { return true }
            guard readChannel(&bits) else { return false }
        }
        // XYB encoding, then the colour encoding. An ICC profile follows the header.
        _ = bits.bool()
        if !bits.bool() {
            _ = bits.bool()
            isGray = bits.enumeration() == 1
        }
        return (1...32).contains(bitsPerSample)
    }

    private static func depth(_ bits: inout JPEGXLBits) -> Int {
        guard bits.bool() else { return bits.u32((8, 0), (10, 0), (12, 0), (1, 6)) }
        let count = bits.u32((32, 0), (16, 0), (24, 0), (1, 6))
        _ = bits.u(4)
        return count
    }

    private mutating func readChannel(_ bits: inout JPEGXLBits) -> Bool {
        if bits.bool() {
            hasAlpha = true
            return true
        }
        let kind = bits.enumeration()
        _ = Self.depth(&bits)
        _ = bits.u32((0, 0), (3, 0), (4, 0), (1, 3))
        bits.skip(8 * bits.u32((0, 0), (0, 4), (16, 5), (48, 10)))
        switch kind {
        case 0:
            hasAlpha = true
            _ = bits.bool()
        case 2: bits.skip(64)
        case 5: _ = bits.u32((1, 0), (0, 2), (3, 4), (19, 8))
        default: break
        }
        return kind <= 16
    }

    private static func skipPreview(_ bits: inout JPEGXLBits) {
        let isSmall = bits.bool()
        func side(_ bits: inout JPEGXLBits) -> Int {
            isSmall
                ? bits.u32((16, 0), (32, 0), (1, 5), (33, 9)) : bits.u32((1, 6), (65, 8), (321, 10), (1345, 12))
        }
        _ = side(&bits)
        if bits.u(3) == 0 { _ = side(&bits) }
    }

    private static func skipAnimation(_ bits: inout JPEGXLBits) {
        _ = bits.u32((100, 0), (1000, 0), (1, 10), (1, 30))
        _ = bits.u32((1, 0), (1001, 0), (1, 8), (1, 10))
        _ = bits.u32((0, 0), (0, 3), (0, 16), (0, 32))
        _ = bits.bool()
    }
}
