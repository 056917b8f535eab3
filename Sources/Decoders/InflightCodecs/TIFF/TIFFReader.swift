import InflightImages

/// Reads the numbers and directories of a TIFF or BigTIFF file in either byte order.
struct TIFFReader {
    let bytes: Bytes
    let isLittle: Bool
    /// Whether the file is BigTIFF, with offsets and counts of 64 bits.
    let isBig: Bool

    /// An entry of a directory.
    struct Entry {
        let type: Int
        let count: Int
        /// The offset of the values, which are in the entry itself or elsewhere in the file.
        let offset: Int

        /// The size of one value in bytes; 0 for an unknown type.
        var size: Int {
            switch type {
            case 1, 2, 6, 7: 1
            case 3, 8: 2
            case 4, 9, 11, 13: 4
            case 5, 10, 12, 16, 17, 18: 8
            default: 0
            }
        }

        /// The end of the values, or `nil` on overflow.
        var end: Int? {
            let product = size.multipliedReportingOverflow(by: count)
            let end = product.partialValue.addingReportingOverflow(offset)
            return product.overflow || end.overflow ? nil : end.partialValue
        }
    }

    /// Parses the first bytes of a file, at least eight; returns `nil` if it is not a TIFF file.
    init?(_ bytes: Bytes) {
        let isLittle = bytes.has("II", at: 0)
        guard isLittle || bytes.has("MM", at: 0) else { return nil }
        guard let version = isLittle ? bytes.little16(at: 2) : bytes.big16(at: 2), version == 42 || version == 43 else {
            return nil
        }
        self.bytes = bytes
        self.isLittle = isLittle
        isBig = version == 43
    }

    func number16(at offset: Int) -> Int? {
        isLittle ? bytes.little16(at: offset) : bytes.big16(at: offset)
    }

    func number32(at offset: Int) -> Int? {
        isLittle ? bytes.little32(at: offset) : bytes.big32(at: offset)
    }

    /// Returns the offset at `position`: 32 bits, or 64 in BigTIFF. Values beyond any real file become `Int.max / 2`.
    func offset(at position: Int) -> Int? {
        guard isBig else { return number32(at: position) }
        guard let first = number32(at: position), let second = number32(at: position + 4) else { return nil }
        let (low, high) = isLittle ? (first, second) : (second, first)
        return high > 0x3FFF_FFFF ? Int.max / 2 : high << 32 | low
    }

    /// The lengths in bytes of the file header, a directory's entry count, an entry, and an offset.
    var headerLength: Int { isBig ? 16 : 8 }
    var countLength: Int { isBig ? 8 : 2 }
    var entryLength: Int { isBig ? 20 : 12 }
    var offsetLength: Int { isBig ? 8 : 4 }

    /// Returns the number of entries in the directory at `position`, or `nil` if it is beyond the available bytes.
    func entryCount(at position: Int) -> Int? {
        isBig ? offset(at: position) : number16(at: position)
    }

    /// Returns the entry at `position`, or `nil` if it is beyond the available bytes.
    func entry(at position: Int) -> (tag: Int, entry: Entry)? {
        guard let tag = number16(at: position), let type = number16(at: position + 2),
            let count = isBig ? offset(at: position + 4) : number32(at: position + 4)
        else { return nil }
        let value = position + (isBig ? 12 : 8)
        let inside = Entry(type: type, count: count, offset: value)
        if let end = inside.end, end - value <= offsetLength { return (tag, inside) }
        guard let far = offset(at: value) else { return nil }
        return (tag, Entry(type: type, count: count, offset: far))
    }

    /// Returns one of an entry's integers as unsigned, or `nil` if it is not available.
    func value(_ entry: Entry, at index: Int = 0) -> Int? {
        guard index < entry.count, let end = entry.end, end <= bytes.count else { return nil }
        let position = entry.offset + index * entry.size
        return switch entry.type {
        case 1, 6: bytes.byte(at: position)
        case 3, 8: number16(at: position)
        case 4, 9, 13: number32(at: position)
        case 16, 17, 18: isBig ? offset(at: position) : nil
        default: nil
        }
    }
}
