import InflightImages

/// The range of an image's samples, and whether they are RGB.
struct HEIFRange {
    /// Whether black is 16 and white is 235 of 255, instead of 0 and 255.
    var isLimited: Bool
    /// Whether the three components are green, blue and red, without a matrix.
    var isRGB = false

    init(isLimited: Bool, matrix: Int = 2) {
        self.isLimited = isLimited
        isRGB = matrix == 0
    }

    /// Returns the range of colours: that of `colr`, or else that of the codec's header.
    static func ofColor(_ image: HEIFImage, _ bytes: Bytes) -> HEIFRange {
        // HEVC has limited range unless it says otherwise (ITU-T H.265, section E.3.1).
        declared(image, bytes) ?? coded(image.coded, bytes)
            ?? HEIFRange(isLimited: image.coded.type == HEIFImage.code("hvc1"))
    }

    /// Returns the range of alpha, which has no colours: that of the codec's header, or else that of `colr`. It is full
    /// unless either says otherwise (ISO/IEC 23000-22 section 7.3.5.2).
    static func ofAlpha(_ image: HEIFImage, _ bytes: Bytes) -> HEIFRange {
        coded(image.coded, bytes) ?? declared(image, bytes) ?? HEIFRange(isLimited: false)
    }

    private static func declared(_ image: HEIFImage, _ bytes: Bytes) -> HEIFRange? {
        for box in image.parts[0].properties + image.coded.properties where box.has("colr", bytes) {
            let start = box.content.lowerBound
            guard bytes.has("nclx", at: start), box.content.count >= 11, let matrix = bytes.big16(at: start + 8),
                let flags = bytes.byte(at: start + 10)
            else { continue }
            return HEIFRange(isLimited: flags & 0x80 == 0, matrix: matrix)
        }
        return nil
    }

    private static func coded(_ part: HEIFImage.Part, _ bytes: Bytes) -> HEIFRange? {
        guard part.type == HEIFImage.code("av01") else {
            return part.properties.first { $0.has("hvcC", bytes) }.flatMap { HEVCRange.read($0, bytes) }
        }
        let configuration = part.properties.first { $0.has("av1C", bytes) && $0.content.count > 4 }
        let places = (configuration.map { [$0.content.lowerBound + 4..<$0.end] } ?? []) + part.extents.prefix(1)
        for place in places {
            if let header = sequenceHeader(bytes, place) { return read(header) }
        }
        return nil
    }

    /// Finds the sequence header among the open bitstream units (AV1 specification, section 5.3).
    private static func sequenceHeader(_ bytes: Bytes, _ range: Range<Int>) -> HEIFBits? {
        var position = range.lowerBound
        let end = min(range.upperBound, bytes.count)
        while position < end, let head = bytes.byte(at: position) {
            position += head & 4 == 0 ? 1 : 2
            var length = end - position
            if head & 2 != 0 {
                length = 0
                for index in 0..<8 {
                    guard let byte = bytes.byte(at: position) else { return nil }
                    position += 1
                    length |= (byte & 0x7F) << (7 * index)
                    if byte & 0x80 == 0 { break }
                }
            }
            guard position <= end, length <= end - position else { return nil }
            if head >> 3 & 15 == 1 { return HEIFBits(bytes, position..<position + length) }
            position += length
        }
        return nil
    }

    /// Reads the range from a sequence header (AV1 specification, section 5.5).
    private static func read(_ header: HEIFBits) -> HEIFRange? {
        var bits = header
        let profile = bits.read(3)
        bits.skip(1)
        let isReduced = bits.flag()
        if isReduced {
            bits.skip(5)
        } else {
            skipOperatingPoints(&bits)
        }
        let widthBits = bits.read(4) + 1
        let heightBits = bits.read(4) + 1
        bits.skip(widthBits + heightBits)
        if !isReduced, bits.flag() { bits.skip(7) }
        bits.skip(3)
        if !isReduced {
            bits.skip(4)
            let hasOrder = bits.flag()
            if hasOrder { bits.skip(2) }
            // Screen content tools, and integer motion vectors if these are used.
            let usesTools = bits.flag() || bits.flag()
            if usesTools, !bits.flag() { bits.skip(1) }
            if hasOrder { bits.skip(3) }
        }
        bits.skip(3)
        let isDeep = bits.flag()
        if profile == 2, isDeep { bits.skip(1) }
        let isGray = profile != 1 && bits.flag()
        var colors = (primaries: 2, transfer: 2, matrix: 2)
        if bits.flag() { colors = (bits.read(8), bits.read(8), bits.read(8)) }
        // RGB has full range.
        let isFull = !isGray && colors == (1, 13, 0) || bits.flag()
        return bits.isExhausted ? nil : HEIFRange(isLimited: !isFull, matrix: colors.matrix)
    }

    private static func skipOperatingPoints(_ bits: inout HEIFBits) {
        var delayBits: Int?
        if bits.flag() {
            bits.skip(64)
            if bits.flag() { bits.skipVariableLength() }
            if bits.flag() {
                delayBits = bits.read(5) + 1
                bits.skip(42)
            }
        }
        let hasDelay = bits.flag()
        for _ in 0...bits.read(5) {
            bits.skip(12)
            if bits.read(5) > 7 { bits.skip(1) }
            if let delayBits, bits.flag() { bits.skip(2 * delayBits + 1) }
            if hasDelay, bits.flag() { bits.skip(4) }
        }
    }
}

/// Reads the fields of a bit stream, highest bit of each byte first.
struct HEIFBits {
    private let bytes: Bytes
    private let start: Int
    private let count: Int
    private var position = 0
    /// Whether a read exceeded the available bits. Such reads return zero.
    private(set) var isExhausted = false

    init(_ bytes: Bytes, _ range: Range<Int>) {
        self.bytes = bytes
        start = range.lowerBound
        count = range.count * 8
    }

    /// - Parameter length: at most 32.
    mutating func read(_ length: Int) -> Int {
        guard length <= count - position else {
            isExhausted = true
            return 0
        }
        var value = 0
        for bit in position..<position + length {
            value = value << 1 | Int(bytes[start + bit >> 3] >> UInt8(7 - bit & 7) & 1)
        }
        position += length
        return value
    }

    mutating func flag() -> Bool { read(1) == 1 }

    mutating func skip(_ length: Int) {
        if length > count - position { isExhausted = true }
        position = min(position + length, count)
    }

    /// Skips a number that starts with as many zeros as it has further bits (AV1 specification, section 4.10.3).
    mutating func skipVariableLength() {
        var zeros = 0
        while !flag(), !isExhausted { zeros += 1 }
        if zeros < 32 { skip(zeros) }
    }
}
