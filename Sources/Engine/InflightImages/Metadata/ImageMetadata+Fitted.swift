extension ImageMetadata {
    /// Returns the metadata for re-encoded pixels: upright, of another size, in sRGB.
    ///
    /// In EXIF the orientation becomes 1. The sizes and the colour space, if present, become those of the pixels. The
    /// second directory, which holds an outdated thumbnail, is cut off, and its image data are removed or cleared. In
    /// XMP `tiff:Orientation` becomes 1. Everything else is kept, such as an editor's thumbnail or sizes within XMP,
    /// and vendor-specific fields. An invalid EXIF record is left out.
    ///
    /// Time and memory are linear in the records.
    ///
    /// - Parameters:
    ///   - width: the width of the pixels.
    ///   - height: the height of the pixels.
    public func fitted(width: Int, height: Int) -> ImageMetadata {
        ImageMetadata(
            exifBytes: exifBytes.flatMap { bytes in
                guard var rewriter = EXIFRewriter(bytes) else { return nil }
                return rewriter.fitted(width: width, height: height)
            },
            xmpBytes: xmpBytes.map(XMPRewriter.upright))
    }
}

/// Changes single numbers of an EXIF record in place (TIFF 6.0 section 2, CIPA DC-008 sections 4.5 and 4.6).
struct EXIFRewriter {
    private var bytes: [UInt8]
    private let isLittle: Bool

    private enum Tag {
        static let width = 0x0100
        static let height = 0x0101
        static let orientation = 0x0112
        static let thumbnailStart = 0x0201
        static let thumbnailLength = 0x0202
        static let photo = 0x8769
        static let colorSpace = 0xA001
        static let pixelWidth = 0xA002
        static let pixelHeight = 0xA003
    }

    init?(_ bytes: Bytes) {
        guard bytes.count >= 14 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0x49, 0x49): isLittle = true
        case (0x4D, 0x4D): isLittle = false
        default: return nil
        }
        self.bytes = bytes.array
        guard number(2, bytes: 2) == 42 else { return nil }
    }

    mutating func fitted(width: Int, height: Int) -> Bytes? {
        guard let first = number(4, bytes: 4), let count = number(first, bytes: 2) else { return nil }
        for (tag, value) in [(Tag.orientation, 1), (Tag.width, width), (Tag.height, height)] {
            set(tag, to: value, in: first)
        }
        if let photo = entry(Tag.photo, in: first).flatMap({ number($0 + 8, bytes: 4) }) {
            for (tag, value) in [(Tag.colorSpace, 1), (Tag.pixelWidth, width), (Tag.pixelHeight, height)] {
                set(tag, to: value, in: photo)
            }
        }
        removeThumbnail(pointer: first + 2 + count * 12)
        return Bytes(bytes)
    }

    /// - Parameter pointer: the offset of the pointer to the second directory.
    private mutating func removeThumbnail(pointer: Int) {
        guard let second = number(pointer, bytes: 4), second > 0 else { return }
        put(0, at: pointer, bytes: 4)
        let start = entry(Tag.thumbnailStart, in: second).flatMap { number($0 + 8, bytes: 4) }
        let length = entry(Tag.thumbnailLength, in: second).flatMap { number($0 + 8, bytes: 4) }
        guard let start, let length, start > pointer, start < bytes.count, length <= bytes.count - start else { return }
        // Data after the thumbnail, which are rare, keep their offsets.
        if bytes[(start + length)...].allSatisfy({ $0 == 0 }) {
            bytes.removeSubrange(start...)
        } else {
            for index in start..<start + length { bytes[index] = 0 }
        }
    }

    // MARK: Numbers

    /// Returns an unsigned number, or `nil` if it lies outside the bytes.
    private func number(_ offset: Int, bytes count: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - count else { return nil }
        return (0..<count).reduce(0) { sum, index in
            sum | Int(bytes[offset + index]) << (8 * (isLittle ? index : count - 1 - index))
        }
    }

    /// Returns the offset of the first entry with that tag, if all of the entry lies inside the bytes.
    private func entry(_ tag: Int, in directory: Int) -> Int? {
        guard let count = number(directory, bytes: 2) else { return nil }
        let entries = (0..<count).lazy.map { directory + 2 + $0 * 12 }
        return entries.first { number($0, bytes: 2) == tag && $0 + 12 <= bytes.count }
    }

    /// Sets a field that holds a number of 8, 16 or 32 bits, signed or not, if it is present.
    private mutating func set(_ tag: Int, to value: Int, in directory: Int) {
        guard let entry = entry(tag, in: directory), let count = number(entry + 4, bytes: 4), (1...2).contains(count)
        else { return }
        switch number(entry + 2, bytes: 2) {
        case 1, 6: put(min(value, 0xFF), at: entry + 8, bytes: 1)
        case 3, 8: put(min(value, 0xFFFF), at: entry + 8, bytes: 2)
        case 4 where count == 1, 9 where count == 1: put(value, at: entry + 8, bytes: 4)
        default: break
        }
    }

    /// The offset is in bounds, because it was read before.
    private mutating func put(_ value: Int, at offset: Int, bytes count: Int) {
        for index in 0..<count {
            let shift = 8 * (isLittle ? index : count - 1 - index)
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }
}

/// Changes the orientation in XMP (XMP specification part 2 section 3.1, `tiff:Orientation`), as an attribute or as an
/// element. There should be one.
enum XMPRewriter {
    static func upright(_ xmp: Bytes) -> Bytes {
        let name = Array("tiff:Orientation".utf8)
        var bytes = xmp.array
        var position = 0
        while position <= bytes.count - name.count {
            guard bytes[position] == name[0], bytes[position..<position + name.count].elementsEqual(name) else {
                position += 1
                continue
            }
            position += name.count
            // `="6"`, with blanks, or `>6<`.
            let digit = bytes[position...].prefix(16).firstIndex { !" \t\r\n=\"'>".utf8.contains($0) }
            if let digit, (0x31...0x38).contains(bytes[digit]), digit > position { bytes[digit] = 0x31 }
        }
        return Bytes(bytes)
    }
}
