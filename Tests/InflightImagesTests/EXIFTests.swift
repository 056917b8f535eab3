import InflightImages
import Testing

@Suite("EXIF records", .timeLimit(.minutes(10)))
struct EXIFTests {
    /// A little-endian record of one directory: each field has a tag, a type, a count and four bytes of value.
    private func record(_ fields: [(tag: Int, type: Int, count: Int, four: [UInt8])], behind: [UInt8] = []) -> Bytes {
        func little(_ number: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        var bytes: [UInt8] = [0x49, 0x49, 42, 0] + little(8, 4) + little(fields.count, 2)
        for field in fields {
            bytes += little(field.tag, 2) + little(field.type, 2) + little(field.count, 4) + field.four
        }
        return Bytes(bytes + little(0, 4) + behind)
    }

    private func value(_ type: Int, _ count: Int, _ four: [UInt8], behind: [UInt8] = []) -> EXIF.Value? {
        EXIF(record([(0x0110, type, count, four)], behind: behind))?[.image, 0x0110]
    }

    @Test("EXIF numbers are signed, unsigned, floating-point or rational")
    func numbers() {
        #expect(value(1, 3, [1, 2, 255, 0]) == .numbers([1, 2, 255]))
        #expect(value(6, 3, [1, 2, 255, 0]) == .numbers([1, 2, -1]))
        #expect(value(3, 2, [0x34, 0x12, 0xFF, 0xFF]) == .numbers([0x1234, 0xFFFF]))
        #expect(value(8, 2, [0x34, 0x12, 0xFF, 0xFF]) == .numbers([0x1234, -1]))
        #expect(value(4, 1, [0, 0, 0, 0x80]) == .numbers([2_147_483_648]))
        #expect(value(9, 1, [0, 0, 0, 0x80]) == .numbers([-2_147_483_648]))
        #expect(value(11, 1, [0, 0, 0xC0, 0x3F]) == .numbers([1.5]))
        // The value is behind the directory, which ends at offset 26.
        #expect(value(12, 1, [26, 0, 0, 0], behind: [0, 0, 0, 0, 0, 0, 0xF8, 0x3F]) == .numbers([1.5]))
        #expect(
            value(5, 1, [26, 0, 0, 0], behind: [1, 0, 0, 0, 0, 0, 0, 0])
                == .fractions([.init(numerator: 1, denominator: 0)]))
    }

    @Test("EXIF text ends at NUL, is UTF-8 or else Latin-1, and is trimmed")
    func text() {
        #expect(value(2, 4, [0x20, 0x61, 0, 0x62]) == .text("a"))
        #expect(value(2, 3, [0xC3, 0xB6, 0, 0]) == .text("ö"))
        #expect(value(2, 3, [0xF6, 0x20, 0, 0]) == .text("ö"))
        #expect(value(2, 1, [0, 0, 0, 0]) == .text(""))
        #expect(value(7, 4, [0x30, 0x32, 0x33, 0x32]) == .text("0232"))
        #expect(value(7, 4, [0x30, 0x02, 0x33, 0x32]) == .bytes([0x30, 0x02, 0x33, 0x32]))
    }

    @Test("EXIF parsing skips fields out of bounds, of unknown type or in cycles")
    func damaged() {
        #expect(value(2, 5, [26, 0, 0, 0], behind: [1, 2, 3, 4]) == nil)
        #expect(value(2, 5, [0xFF, 0xFF, 0xFF, 0xFF]) == nil)
        #expect(value(5, 0x1FFF_FFFF, [0, 0, 0, 0]) == nil)
        #expect(value(99, 1, [0, 0, 0, 0]) == nil)
        #expect(value(2, 0, [0, 0, 0, 0]) == nil)
        // A directory that contains itself.
        let circle = EXIF(record([(0x8769, 4, 1, [8, 0, 0, 0]), (0x8825, 4, 1, [8, 0, 0, 0])]))
        #expect(circle?.fields.count ?? 0 <= 4)
        #expect(EXIF(Bytes("II*")) == nil && EXIF(Bytes("XX*\0\0\0\0\0")) == nil && EXIF(.empty) == nil)
    }

    @Test("EXIF values are formatted as cameras show them")
    func shown() {
        func shown(_ above: Int, _ below: Int) -> String {
            EXIF.Value.fractions([.init(numerator: above, denominator: below)]).description
        }
        #expect(shown(1, 250) == "1/250" && shown(10, 2500) == "1/250" && shown(28, 10) == "2.8")
        #expect(shown(5, 1) == "5" && shown(0, 7) == "0" && shown(1, 0) == "1/0" && shown(-1, 3) == "-0.3333")
        #expect(EXIF.Value.numbers([1, 2.5]).description == "1, 2.5")
        #expect(EXIF.Value.bytes([1]).description == "1 byte")
        #expect(EXIF.Field(directory: .gps, tag: 99, value: .text("")).name == "0x0063")
    }
}
