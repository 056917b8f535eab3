import InflightImages

/// Finds the orientation in EXIF metadata, which is a small TIFF file (TIFF 6.0 section 2, CIPA DC-008).
enum EXIFOrientation {
    /// - Parameter range: the metadata from the byte order mark to its end, within `bytes`.
    static func find(in bytes: Bytes, _ range: Range<Int>) -> ImageInfo.Orientation? {
        let record = bytes.part(range)
        guard record.count >= 14, let reader = TIFFReader(record), !reader.isBig,
            let directory = reader.number32(at: 4), let count = reader.entryCount(at: directory)
        else { return nil }
        for position in (0..<count).lazy.map({ directory + reader.countLength + $0 * reader.entryLength }) {
            guard let tag = reader.number16(at: position) else { return nil }
            guard tag == 0x0112 else { continue }
            // The value is in the entry itself, as any integer type.
            guard reader.number16(at: position + 10) != nil, let (_, entry) = reader.entry(at: position),
                (1...2).contains(entry.count), entry.offset == position + 8
            else { return nil }
            return reader.value(entry).flatMap { ImageInfo.Orientation(rawValue: $0) }
        }
        return nil
    }
}
