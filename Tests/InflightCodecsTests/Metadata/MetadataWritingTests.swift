import InflightCodecs
import InflightCore
import InflightPictures
import Testing

@Suite("Writing metadata", .timeLimit(.minutes(10)))
struct MetadataWritingTests {
    private static let targets: [EncodeOptions] = {
        var lossless = EncodeOptions(format: .webp)
        lossless.isLossless = true
        var progressive = EncodeOptions(format: .jpeg)
        progressive.isProgressive = true
        return [
            EncodeOptions(format: .jpeg), progressive, EncodeOptions(format: .png), EncodeOptions(format: .webp),
            lossless,
        ]
    }()

    @Test("Written metadata round-trips except for the orientation and changes no pixel", arguments: targets)
    func roundTrip(_ target: EncodeOptions) throws {
        for source in [MetadataFixtures.jpeg, MetadataFixtures.png, MetadataFixtures.webp] {
            let metadata = try registry.metadata(of: Bytes(source))
            for pixels in [try decode(source), try decode(Fixtures.rgbaPNG)] {
                var options = target
                options.metadata = metadata
                let file = try registry.encode(pixels, options: options)
                let info = try registry.validate(file)
                #expect(info.orientation == .up && info.width == pixels.width && info.height == pixels.height)
                let found = try registry.metadata(of: file)
                #expect(found.xmpBytes == metadata.xmpBytes)
                var fields = try #require(metadata.exif).fields
                let orientation = try #require(fields.firstIndex { $0.tag == 0x0112 })
                fields[orientation].value = .numbers([1])
                #expect(found.exif?.fields == fields)
                let plain = try registry.encode(pixels, options: target)
                #expect(info.hasAlpha == (try registry.info(of: plain).hasAlpha))
                #expect(try decode(file.array).bytes == decode(plain.array).bytes)
                #expect(try registry.metadata(of: plain).isEmpty)
            }
        }
    }

    private static let exif = Bytes(Pieces.exif(orientation: 6))
    private static let xmp = Bytes(#"<x tiff:Orientation="8"/>"#)

    @Test("Each format stores metadata in its standard place")
    func places() throws {
        let pixels = try decode(Fixtures.rgbPNG)
        func file(_ format: ImageFormat, lossless: Bool = false) throws -> [UInt8] {
            var options = EncodeOptions(format: format)
            options.isLossless = lossless
            options.metadata = ImageMetadata(exifBytes: Self.exif, xmpBytes: Self.xmp)
            return try registry.encode(pixels, options: options).array
        }
        let exif = ImageMetadata(exifBytes: Self.exif).fitted(width: 16, height: 12).exifBytes!.array
        let xmp = Array(#"<x tiff:Orientation="1"/>"#.utf8)
        // The JFIF segment, then one segment for each kind, with its length and signature.
        let jpeg = try file(.jpeg)
        #expect(Array(jpeg[..<4]) == [0xFF, 0xD8, 0xFF, 0xE0])
        let first = [0xFF, 0xE1] + Pieces.big16(exif.count + 8) + Array("Exif\0\0".utf8) + exif
        let second = [0xFF, 0xE1] + Pieces.big16(xmp.count + 31) + Array("http://ns.adobe.com/xap/1.0/\0".utf8) + xmp
        #expect(Array(jpeg[20..<20 + first.count + second.count]) == first + second)
        let png = try file(.png)
        let chunks = Pieces.chunk("eXIf", exif) + Pieces.chunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + xmp)
        #expect(Array(png[33..<33 + chunks.count]) == chunks)
        for lossless in [false, true] {
            let webp = try file(.webp, lossless: lossless)
            #expect(Array(webp[4..<8]) == Pieces.little32(webp.count - 8))
            #expect(Array(webp[12..<30]) == Pieces.webPCanvas(width: 16, height: 12, flags: 0x0C))
            func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
                Array(name.utf8) + Pieces.little32(content.count) + content
                    + [UInt8](repeating: 0, count: content.count % 2)
            }
            let tail = chunk("EXIF", exif) + chunk("XMP ", xmp)
            #expect(Array(webp.suffix(tail.count)) == tail)
        }
    }

    @Test("Invalid EXIF is omitted, and XMP that does not fit is rejected")
    func refused() throws {
        let pixels = try decode(Fixtures.rgbPNG)
        for format in [ImageFormat.jpeg, .png, .webp] {
            var options = EncodeOptions(format: format)
            let plain = try registry.encode(pixels, options: options)
            for broken in ["", "MM", "nothing of the kind", "II*\0\0\0\0\u{7F}______________"] {
                options.metadata = ImageMetadata(exifBytes: Bytes(broken))
                #expect(try registry.encode(pixels, options: options) == plain, "\(format) \(broken)")
            }
            for (count, fits) in [(65_504, true), (65_505, format != .jpeg)] {
                options.metadata = ImageMetadata(xmpBytes: Bytes([UInt8](repeating: 0x20, count: count)))
                do throws(LoadError) {
                    _ = try registry.encode(pixels, options: options)
                    #expect(fits)
                } catch {
                    #expect(!fits && error.code == .cannotEncode && error.message.contains("65504"))
                }
            }
        }
    }
}
