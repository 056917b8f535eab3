import InflightCore

/// Finds the orientation in EXIF metadata, which is a TIFF file in small (TIFF 6.0 section 2, CIPA DC-008).
enum EXIFOrientation {
    /// - Parameter range: from the byte order mark to the end of the metadata; lies inside of `bytes`.
    static func find(in bytes: Bytes, _ range: Range<Int>) -> ImageOrientation? {
        let start = range.lowerBound
        let isLittle = bytes.has("II", at: start)
        guard isLittle || bytes.has("MM", at: start) else { return nil }
        func number16(_ offset: Int) -> Int? {
            guard offset >= start, offset <= range.upperBound - 2 else { return nil }
            return isLittle ? bytes.little16(at: offset) : bytes.big16(at: offset)
        }
        guard number16(start + 2) == 42, range.count >= 14,
            let directory = isLittle ? bytes.little32(at: start + 4) : bytes.big32(at: start + 4),
            let count = number16(start + directory)
        else { return nil }
        for index in 0..<count {
            let entry = start + directory + 2 + index * 12
            guard let tag = number16(entry) else { return nil }
            guard tag == 0x0112 else { continue }
            // In the entry itself, of whichever integer type: none of the eight values needs a sign.
            func number32(_ offset: Int) -> Int? { isLittle ? bytes.little32(at: offset) : bytes.big32(at: offset) }
            guard number16(entry + 10) != nil, let count = number32(entry + 4), (1...2).contains(count) else {
                return nil
            }
            let value: Int? =
                switch number16(entry + 2) {
                case 1, 6: bytes.byte(at: entry + 8)
                case 3, 8: number16(entry + 8)
                case 4, 9: count == 1 ? number32(entry + 8) : nil
                default: nil
                }
            return value.flatMap { ImageOrientation(rawValue: $0) }
        }
        return nil
    }
}
