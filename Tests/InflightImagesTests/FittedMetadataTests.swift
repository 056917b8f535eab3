import InflightImages
import Testing

@Suite("Metadata fitted to processed pixels", .timeLimit(.minutes(10)))
struct FittedMetadataTests {
    /// A handmade EXIF record: the image directory, the photo directory, and one with a thumbnail at the end.
    private struct Record {
        var isLittle = true
        var orientation = 6
        var thumbnail: [UInt8] = Array("the old picture".utf8)
        var behind: [UInt8] = []

        private func number(_ value: Int, _ count: Int) -> [UInt8] {
            let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isLittle ? little : little.reversed()
        }

        private func directory(_ entries: [(tag: Int, type: Int, value: Int)], next: Int) -> [UInt8] {
            var result = number(entries.count, 2)
            for entry in entries {
                result += number(entry.tag, 2)
                result += number(entry.type, 2)
                result += number(1, 4)
                result += entry.type == 3 ? number(entry.value, 2) + [0, 0] : number(entry.value, 4)
            }
            return result + number(next, 4)
        }

        var bytes: Bytes {
            let (image, photo, small) = (8, 8 + 6 + 3 * 12, 8 + 2 * 6 + 7 * 12)
            let start = small + 6 + 2 * 12
            var result: [UInt8] = Array((isLittle ? "II" : "MM").utf8)
            result += number(42, 2)
            result += number(image, 4)
            result += directory([(0x100, 4, 4000), (0x112, 3, orientation), (0x8769, 4, photo)], next: small)
            result += directory(
                [(0x8827, 3, 400), (0xA001, 3, 0xFFFF), (0xA002, 4, 4000), (0xA003, 3, 3000)], next: 0)
            result += directory([(0x201, 4, start), (0x202, 4, thumbnail.count)], next: 0)
            return Bytes(result + thumbnail + behind)
        }
    }

    @Test("Fitted metadata is upright, in sRGB, of the new size and without a thumbnail", arguments: [true, false])
    func fitted(_ isLittle: Bool) throws {
        let old = Record(isLittle: isLittle).bytes
        let metadata = ImageMetadata(exifBytes: old).fitted(width: 320, height: 240)
        let new = try #require(metadata.exifBytes)
        let exif = try #require(metadata.exif)
        #expect(exif[.image, 0x112] == .numbers([1]) && exif[.image, 0x100] == .numbers([320]))
        #expect(exif[.photo, 0xA001] == .numbers([1]) && exif[.photo, 0x8827] == .numbers([400]))
        #expect(exif[.photo, 0xA002] == .numbers([320]) && exif[.photo, 0xA003] == .numbers([240]))
        // The thumbnail's bytes are gone, and so is the pointer to them.
        #expect(new.count == old.count - 15)
        #expect(new.array[46..<50].allSatisfy { $0 == 0 })
    }

    @Test("Bytes behind the thumbnail keep their place, and the thumbnail is zeroed")
    func behind() throws {
        var record = Record()
        record.behind = [7, 8, 9]
        let new = try #require(ImageMetadata(exifBytes: record.bytes).fitted(width: 1, height: 1).exifBytes).array
        #expect(new.count == record.bytes.count && Array(new.suffix(3)) == [7, 8, 9])
        #expect(new.dropLast(3).suffix(15).allSatisfy { $0 == 0 })
    }

    @Test(
        "Fitting resets the XMP orientation, as an attribute or as an element",
        arguments: [
            (#"<a tiff:Orientation="6" b="6"/>"#, #"<a tiff:Orientation="1" b="6"/>"#),
            ("<tiff:Orientation>8</tiff:Orientation>\n", "<tiff:Orientation>1</tiff:Orientation>\n"),
            ("tiff:Orientation = '3'", "tiff:Orientation = '1'"), ("tiff:Orientation", "tiff:Orientation"),
            ("tiff:Orientation6", "tiff:Orientation6"), ("tiff:tiff:Orientation=\"2\"", "tiff:tiff:Orientation=\"1\""),
            ("", ""), ("<a exif:Orientation=\"6\"/>", "<a exif:Orientation=\"6\"/>"),
        ])
    func xmp(_ old: String, _ new: String) {
        #expect(ImageMetadata(xmpBytes: Bytes(old)).fitted(width: 1, height: 1).xmp == new)
    }

    @Test("Fitting a truncated or corrupt record never traps or enlarges it")
    func damaged() async {
        let bytes = Record().bytes.array
        for count in 0...bytes.count {
            await Task.yield()
            _ = ImageMetadata(exifBytes: Bytes(Array(bytes.prefix(count)))).fitted(width: 70_000, height: 1)
        }
        for index in bytes.indices {
            await Task.yield()
            for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var changed = bytes
                changed[index] = value
                let new = ImageMetadata(exifBytes: Bytes(changed)).fitted(width: 70_000, height: 1)
                #expect((new.exifBytes?.count ?? 0) <= bytes.count)
            }
        }
    }
}
