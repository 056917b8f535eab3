/// The encoding of an SVG document's text (XML 1.0 section 4.3.3 and appendix F).
package enum SVGText {
    /// Returns a document in UTF-16 as UTF-8, with blanks in place of its XML declaration, which names the encoding.
    /// Any other document is returned as it is: in all other encodings in use, markup is ASCII.
    ///
    /// - Parameter limit: the number of bytes to convert.
    package static func utf8(_ bytes: Bytes, limit: Int = .max) -> Bytes {
        guard let (start, isBigEndian) = utf16(bytes) else { return bytes }
        let end = min(bytes.count, limit)
        let units = stride(from: start, to: end - 1, by: 2).map { position in
            let (first, second) = (UInt16(bytes[position]), UInt16(bytes[position + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        var text = Array(String(decoding: units, as: UTF16.self).utf8)
        if text.starts(with: Array("<?xml".utf8)), let end = text.firstIndex(of: UInt8(ascii: ">")) {
            for index in 0...end { text[index] = 0x20 }
        }
        return Bytes(text)
    }

    /// Returns the position of the first unit and the byte order, by the byte order mark or by the first `<`.
    private static func utf16(_ bytes: Bytes) -> (start: Int, isBigEndian: Bool)? {
        if bytes.holds([0xFF, 0xFE], at: 0) { return (2, false) }
        if bytes.holds([0xFE, 0xFF], at: 0) { return (2, true) }
        if bytes.holds([0x3C, 0], at: 0) { return (0, false) }
        if bytes.holds([0, 0x3C], at: 0) { return (0, true) }
        return nil
    }
}
