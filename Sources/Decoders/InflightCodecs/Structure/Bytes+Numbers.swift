import InflightImages

/// Numbers in files, or `nil` if they are outside the bytes.
extension Bytes {
    func byte(at offset: Int) -> Int? {
        offset >= 0 && offset < count ? Int(self[offset]) : nil
    }

    func big16(at offset: Int) -> Int? {
        guard offset >= 0, count >= 2, offset <= count - 2 else { return nil }
        return Int(self[offset]) << 8 | Int(self[offset + 1])
    }

    func big32(at offset: Int) -> Int? {
        guard let high = big16(at: offset), let low = big16(at: offset + 2) else { return nil }
        return high << 16 | low
    }

    func little16(at offset: Int) -> Int? {
        big16(at: offset).map { $0 >> 8 | ($0 & 0xFF) << 8 }
    }

    func little24(at offset: Int) -> Int? {
        guard let low = little16(at: offset), let high = byte(at: offset + 2) else { return nil }
        return low | high << 16
    }

    func little32(at offset: Int) -> Int? {
        guard let low = little16(at: offset), let high = little16(at: offset + 2) else { return nil }
        return low | high << 16
    }

    /// Returns whether the ASCII characters of `text` are at `offset`.
    func has(_ text: StaticString, at offset: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard offset >= 0, count - offset >= length else { return false }
        for index in 0..<length where unsafe self[offset + index] != text.utf8Start[index] { return false }
        return true
    }

    /// Returns a copy of a range, which must be within the bytes.
    func slice(_ range: Range<Int>) -> Bytes {
        unsafe withUnsafeBytes { unsafe Bytes(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}
