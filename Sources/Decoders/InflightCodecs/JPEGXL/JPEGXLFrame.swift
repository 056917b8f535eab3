/// The start of a JPEG XL frame header (ISO/IEC 18181-1, annex F), which determines the memory that decoding takes.
struct JPEGXLFrame {
    /// Whether all channels are coded as integers of the whole image, instead of blocks of transformed colours.
    private(set) var isModular = false
    private(set) var hasNoise = false
    /// Whether the frame is the whole image: of its size, without another frame that it uses or that follows.
    private(set) var isAlone = false

    init(
        _ bits: inout JPEGXLBits, isXYB: Bool, extraChannelCount: Int, isAnimated: Bool, hasTimecodes: Bool
    ) {
        if bits.bool() {
            isAlone = true
            return
        }
        let kind = bits.u(2)
        isModular = bits.bool()
        let flags = bits.u64()
        hasNoise = flags & 1 != 0
        let usesPatches = flags & 2 != 0
        let usesOtherFrame = flags & 32 != 0
        let isYCC = !isXYB && bits.bool()
        if !usesOtherFrame {
            if isYCC { bits.skip(3 * 2) }
            bits.skip(2 + 2 * extraChannelCount)
        }
        if isModular { bits.skip(2) } else if isXYB { bits.skip(3 + 3) }
        // Only a regular frame is shown.
        guard kind == 0, !usesOtherFrame, !usesPatches else { return }
        Self.skipPasses(&bits)
        let isPart = bits.bool()
        guard !isPart else { return }
        for _ in 0...extraChannelCount {
            guard !bits.isExhausted, Self.skipReplacing(&bits) else { return }
        }
        if isAnimated { _ = bits.u32((0, 0), (1, 0), (0, 8), (0, 32)) }
        if hasTimecodes { bits.skip(32) }
        isAlone = bits.bool()
    }

    private static func skipPasses(_ bits: inout JPEGXLBits) {
        let count = bits.u32((1, 0), (2, 0), (3, 0), (4, 3))
        guard count > 1 else { return }
        let reductionCount = bits.u32((0, 0), (1, 0), (2, 0), (3, 1))
        bits.skip(2 * (count - 1))
        for _ in 0..<reductionCount { _ = bits.u32((1, 0), (2, 0), (4, 0), (8, 0)) }
        for _ in 0..<reductionCount { _ = bits.u32((0, 0), (1, 0), (2, 0), (0, 3)) }
    }

    /// Returns whether a channel replaces what earlier frames have shown, and is not blended with it.
    private static func skipReplacing(_ bits: inout JPEGXLBits) -> Bool {
        bits.u32((0, 0), (1, 0), (2, 0), (3, 2)) == 0
    }
}
