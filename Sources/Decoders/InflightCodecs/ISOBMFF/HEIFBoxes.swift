import InflightImages

/// A box of an ISO base media file (ISO/IEC 14496-12 section 4.2). Its content may extend beyond the available bytes.
struct HEIFBox {
    let start: Int
    let content: Range<Int>
    /// Whether the box extends to the end of the file.
    let isOpen: Bool

    var end: Int { content.upperBound }

    enum Reading {
        case box(HEIFBox)
        /// The header extends beyond the available bytes.
        case needs(Int)
        case impossible
    }

    /// Parses the header at `position` in a container that ends at `limit`, or at the end of the file if nil.
    static func read(_ bytes: Bytes, at position: Int, limit: Int? = nil) -> Reading {
        guard let size = bytes.big32(at: position), bytes.count - position >= 8 else {
            return .needs(position.saturating(plus: 64))
        }
        var start = position + 8
        var length = size
        var isOpen = false
        if size == 1 {
            guard let high = bytes.big32(at: start), let low = bytes.big32(at: start + 4) else {
                return .needs(position.saturating(plus: 64))
            }
            guard high < 0x4000_0000 else { return .impossible }
            length = high << 32 | low
            start += 8
        } else if size == 0 {
            guard limit == nil || limit! >= start else { return .impossible }
            length = max((limit ?? bytes.count) - position, start - position)
            isOpen = limit == nil
        }
        guard length >= start - position else { return .impossible }
        let end = position.saturating(plus: length)
        if let limit, end > limit { return .impossible }
        return .box(HEIFBox(start: position, content: start..<end, isOpen: isOpen))
    }

    func has(_ type: StaticString, _ bytes: Bytes) -> Bool { bytes.has(type, at: start + 4) }

    /// Returns the version, the flags and the content of a full box, or `nil` if it is too short for them.
    func full(_ bytes: Bytes) -> (version: Int, flags: Int, content: Range<Int>)? {
        guard content.count >= 4, let word = bytes.big32(at: content.lowerBound) else { return nil }
        return (word >> 24, word & 0xFF_FFFF, content.lowerBound + 4..<content.upperBound)
    }

    /// Returns the boxes in `range`, all of which is available, up to the first malformed one.
    static func boxes(_ bytes: Bytes, _ range: Range<Int>) -> [HEIFBox] {
        var found: [HEIFBox] = []
        var position = range.lowerBound
        while range.upperBound - position >= 8, case .box(let box) = read(bytes, at: position, limit: range.upperBound)
        {
            found.append(box)
            position = box.end
        }
        return found
    }
}

/// Reads consecutive numbers within a range.
struct HEIFCursor {
    let bytes: Bytes
    private(set) var range: Range<Int>

    init(_ bytes: Bytes, _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// Returns the next number of `size` bytes, at most 8, or `nil` if it is missing or too large for any file.
    mutating func next(_ size: Int) -> Int? {
        guard range.count >= size else { return nil }
        var value = 0
        for index in 0..<size {
            guard let byte = bytes.byte(at: range.lowerBound + index), value < 1 << 54 else { return nil }
            value = value << 8 | byte
        }
        range = range.lowerBound + size..<range.upperBound
        return value
    }

    /// - Parameter length: at most the length of ``range``.
    mutating func skip(_ length: Int) {
        range = range.lowerBound + length..<range.upperBound
    }
}
