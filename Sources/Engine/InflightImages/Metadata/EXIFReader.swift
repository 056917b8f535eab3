/// Reads the directories of an EXIF record, a small TIFF file (TIFF 6.0 section 2), as far as they are valid.
struct EXIFReader {
    private let bytes: Bytes
    private let isLittle: Bool
    private var fields: [EXIF.Field] = []

    private static let maximumFields = 1000
    private static let maximumBytes = 4096
    private static let photoDirectory = 0x8769
    private static let gpsDirectory = 0x8825

    init?(_ bytes: Bytes) {
        guard bytes.count >= 8 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0x49, 0x49): isLittle = true
        case (0x4D, 0x4D): isLittle = false
        default: return nil
        }
        self.bytes = bytes
        guard number(2, bytes: 2) == 42 else { return nil }
    }

    mutating func read() -> [EXIF.Field] {
        guard let first = number(4, bytes: 4) else { return [] }
        let image = directory(at: first, .image)
        for (tag, kind) in [(Self.photoDirectory, EXIF.Directory.photo), (Self.gpsDirectory, .gps)] {
            if let place = image[tag] { _ = directory(at: place, kind) }
        }
        return fields
    }

    /// Returns an unsigned number, or `nil` if it lies outside the bytes.
    private func number(_ offset: Int, bytes count: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - count else { return nil }
        return (0..<count).reduce(0) { sum, index in
            sum | Int(bytes[offset + index]) << (8 * (isLittle ? index : count - 1 - index))
        }
    }

    /// Reads a directory's fields. Returns the offsets of other directories by the tags that point to them.
    private mutating func directory(at offset: Int, _ kind: EXIF.Directory) -> [Int: Int] {
        var others: [Int: Int] = [:]
        guard let count = number(offset, bytes: 2) else { return others }
        for index in 0..<count where fields.count < Self.maximumFields {
            let entry = offset + 2 + index * 12
            guard let tag = number(entry, bytes: 2), let type = number(entry + 2, bytes: 2),
                let items = number(entry + 4, bytes: 4)
            else { break }
            if kind == .image, [Self.photoDirectory, Self.gpsDirectory].contains(tag) {
                others[tag] = number(entry + 8, bytes: 4)
            } else if let value = value(type, items, entry: entry) {
                fields.append(EXIF.Field(directory: kind, tag: tag, value: value))
            }
        }
        return others
    }

    /// The size in bytes of one item of each type (TIFF 6.0 section 2; 129 is UTF-8, CIPA DC-008 section 4.6.2).
    private static let sizes = [1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 129: 1]

    private func value(_ type: Int, _ items: Int, entry: Int) -> EXIF.Value? {
        guard let size = Self.sizes[type], items > 0, items <= bytes.count else { return nil }
        let place = items * size <= 4 ? entry + 8 : number(entry + 8, bytes: 4)
        guard let start = place, start <= bytes.count, items * size <= bytes.count - start else { return nil }
        let read = min(items, Self.maximumBytes / size)
        let offsets = (0..<read).map { start + $0 * size }
        switch type {
        case 2, 129: return text(start..<start + read).map { .text($0) }
        case 7: return unknown(start..<start + read)
        case 5, 10: return .fractions(offsets.compactMap { fraction($0, isSigned: type == 10) })
        case 11: return .numbers(offsets.compactMap { number($0, bytes: 4).map(Self.single) })
        case 12: return .numbers(offsets.compactMap { number($0, bytes: 8).map(Self.double) })
        default:
            return .numbers(offsets.compactMap { number($0, bytes: size).map { Double(signed($0, type, size)) } })
        }
    }

    private func signed(_ number: Int, _ type: Int, _ size: Int) -> Int {
        let isSigned = [6, 8, 9].contains(type)
        return isSigned && number >> (8 * size - 1) != 0 ? number - 1 << (8 * size) : number
    }

    private func fraction(_ offset: Int, isSigned: Bool) -> EXIF.Fraction? {
        guard let above = number(offset, bytes: 4), let below = number(offset + 4, bytes: 4) else { return nil }
        let type = isSigned ? 9 : 4
        return EXIF.Fraction(numerator: signed(above, type, 4), denominator: signed(below, type, 4))
    }

    private static func single(_ bits: Int) -> Double { Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) }

    private static func double(_ bits: Int) -> Double { Double(bitPattern: UInt64(bitPattern: Int64(bits))) }

    /// Returns the text up to the first zero, trimmed. Invalid UTF-8 is read as Latin-1, which cameras write too.
    private func text(_ range: Range<Int>) -> String? {
        let part = range.map { bytes[$0] }.prefix { $0 != 0 }
        let text =
            String(validating: part, as: UTF8.self)
            ?? String(String.UnicodeScalarView(part.map { Unicode.Scalar($0) }))
        let blanks: (Character) -> Bool = { $0 == " " }
        let trimmed = text.drop(while: blanks)
        return String(trimmed.prefix(trimmed.count - trimmed.reversed().prefix(while: blanks).count))
    }

    /// Returns a value of undefined type, as text if short and printable. Versions and the like are four characters.
    private func unknown(_ range: Range<Int>) -> EXIF.Value {
        let part = range.map { bytes[$0] }
        let isText = !part.isEmpty && part.count <= 8 && part.allSatisfy { (0x20...0x7E).contains($0) }
        return isText ? .text(String(decoding: part, as: UTF8.self)) : .bytes(part)
    }
}
