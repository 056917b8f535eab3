/// The header of a JPEG XL codestream: `SizeHeader` and `ImageMetadata` (ISO/IEC 18181-1, annexes C and D), and that of
/// its first frame, if it follows at once.
struct JPEGXLHeader {
    var width = 0
    var height = 0
    var orientation = 1
    var bitsPerSample = 8
    var hasAlpha = false
    var isGray = false
    var isAnimated = false
    /// Whether a channel is the black of CMYK.
    var hasBlack = false
    /// The number of channels beyond the colours: alpha, black, spot colours, depth and others.
    var extraChannelCount = 0
    /// The first frame; `nil` if a preview or a profile precedes it, whose length only a decoder finds.
    var frame: JPEGXLFrame?
    private var isXYB = true
    private var hasTimecodes = false
    private var hasPreview = false
    private var hasProfile = false

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
        guard isWhole else { return .damaged }
        // The frame may end after the available bytes, in which case it remains unknown.
        if !header.hasPreview, !header.hasProfile {
            skipTransform(&bits, isXYB: header.isXYB)
            bits.align()
            let frame = JPEGXLFrame(
                &bits, isXYB: header.isXYB, extraChannelCount: header.extraChannelCount,
                isAnimated: header.isAnimated, hasTimecodes: header.hasTimecodes)
            if !bits.isExhausted { header.frame = frame }
        }
        return .header(header)
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
        let hasExtraFields = bits.bool()
        if hasExtraFields {
            orientation = 1 + bits.u(3)
            // The intrinsic size, which viewers ignore.
            if bits.bool() { _ = Self.size(&bits) }
            hasPreview = bits.bool()
            if hasPreview { Self.skipPreview(&bits) }
            isAnimated = bits.bool()
            if isAnimated { hasTimecodes = Self.skipAnimation(&bits) }
        }
        bitsPerSample = Self.depth(&bits)
        _ = bits.bool()
        extraChannelCount = bits.u32((0, 0), (1, 0), (2, 4), (1, 12))
        for _ in 0..<extraChannelCount {
            guard !bits.isExhausted else { return true }
            guard readChannel(&bits) else { return false }
        }
        isXYB = bits.bool()
        if !bits.bool() { readColors(&bits) }
        // The tone mapping.
        if hasExtraFields, !bits.bool() { bits.skip(16 + 16 + 1 + 16) }
        let extensions = bits.u64()
        var length = 0
        for bit in 0..<64 where extensions >> UInt64(bit) & 1 == 1 {
            length = length.saturating(plus: Int(clamping: bits.u64()))
        }
        bits.skip(length)
        return (1...32).contains(bitsPerSample)
    }

    private mutating func readColors(_ bits: inout JPEGXLBits) {
        hasProfile = bits.bool()
        let space = bits.enumeration()
        isGray = space == 1
        if hasProfile { return }
        func skipPoint() {
            for _ in 0..<2 { _ = bits.u32((0, 19), (524_288, 19), (1_048_576, 20), (2_097_152, 21)) }
        }
        let isXYB = space == 2
        let custom = 2
        if !isXYB, bits.enumeration() == custom { skipPoint() }
        if !isXYB, !isGray, bits.enumeration() == custom { for _ in 0..<3 { skipPoint() } }
        if !isXYB {
            if bits.bool() { bits.skip(24) } else { _ = bits.enumeration() }
        }
        // The rendering intent.
        _ = bits.enumeration()
    }

    private static func skipTransform(_ bits: inout JPEGXLBits, isXYB: Bool) {
        if bits.bool() { return }
        if isXYB, !bits.bool() { bits.skip(16 * 16) }
        // The weights of upsampling by 2, 4 and 8.
        let weights = bits.u(3)
        for (bit, count) in [15, 55, 210].enumerated() where weights >> bit & 1 == 1 { bits.skip(16 * count) }
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
        case 4: hasBlack = true
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

    /// Returns whether the frames have time codes.
    private static func skipAnimation(_ bits: inout JPEGXLBits) -> Bool {
        _ = bits.u32((100, 0), (1000, 0), (1, 10), (1, 30))
        _ = bits.u32((1, 0), (1001, 0), (1, 8), (1, 10))
        _ = bits.u32((0, 0), (0, 3), (0, 16), (0, 32))
        return bits.bool()
    }
}
