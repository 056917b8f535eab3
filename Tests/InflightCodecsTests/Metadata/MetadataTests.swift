import InflightCore
import InflightPictures
import Testing

@Suite("Reading metadata", .timeLimit(.minutes(10)))
struct MetadataTests {
    private static let files: [(String, Bytes)] = [
        ("jpeg", MetadataFixtures.jpeg), ("png", MetadataFixtures.png), ("webp", MetadataFixtures.webp),
    ].map { ($0, Bytes($1)) }

    @Test("Each format gives the same EXIF fields and XMP", arguments: files)
    func camera(_ name: String, _ file: Bytes) throws {
        let metadata = try registry.metadata(of: file)
        #expect(metadata.xmp == MetadataFixtures.xmp)
        let exif = try #require(metadata.exif)
        let shown = Dictionary(exif.fields.map { ($0.name, $0.value.description) }) { first, _ in first }
        #expect(
            shown == [
                "Make": "Makers", "Model": "Model 7", "Orientation": "6", "Artist": "J?rg", "ExposureTime": "1/250",
                "FNumber": "2.8", "PhotographicSensitivity": "400", "DateTimeOriginal": "2025:07:01 12:34:56",
                "ExposureBiasValue": "-0.3333", "ExifVersion": "0232", "MakerNote": "20 numbers", "GPSLatitudeRef": "S",
                "GPSLatitude": "33, 51, 35.4", "GPSLongitudeRef": "E", "GPSLongitude": "151, 12, 40",
                "GPSAltitudeRef": "1", "GPSAltitude": "12.34",
            ])
        #expect(exif[.photo, 0x829A] == .fractions([.init(numerator: 1, denominator: 250)]))
        #expect(exif[.image, 0x829A] == nil)
    }

    @Test("The location is read with its hemisphere and altitude", arguments: files)
    func place(_ name: String, _ file: Bytes) throws {
        let place = try #require(try registry.metadata(of: file).exif?.location)
        #expect(abs(place.latitude + (33 + 51.0 / 60 + 35.4 / 3600)) < 1e-9)
        #expect(abs(place.longitude - (151 + 12.0 / 60 + 40.0 / 3600)) < 1e-9)
        #expect(place.altitude == -12.34)
    }

    @Test("A file without metadata gives empty metadata")
    func none() throws {
        for file in [Fixtures.baselineJPEG, Fixtures.rgbPNG, Fixtures.losslessWebP, Fixtures.animatedGIF] {
            #expect(try registry.metadata(of: Bytes(file)).isEmpty)
        }
    }

    @Test("Encoding writes no metadata by default")
    func stripped() throws {
        let pixels = try decode(MetadataFixtures.jpeg)
        #expect(pixels.width == 2 && pixels.height == 4)
        for format in [ImageFormat.jpeg, .png, .webp] {
            let file = try registry.encode(pixels, options: EncodeOptions(format: format))
            #expect(try registry.metadata(of: file).isEmpty)
        }
    }

    @Test("Reading truncated or corrupt metadata never crashes", arguments: files)
    func damaged(_ name: String, _ file: Bytes) async {
        func look(_ bytes: [UInt8]) {
            guard let metadata = try? registry.metadata(of: Bytes(bytes)) else { return }
            _ = metadata.xmp
            _ = metadata.exif?.location
            _ = metadata.exif?.fields.map { $0.name + $0.value.description }
        }
        let bytes = file.array
        for count in 0..<bytes.count {
            // Yields because the cooperative pool has few threads and other tests need them.
            await Task.yield()
            look(Array(bytes.prefix(count)))
        }
        for index in bytes.indices {
            await Task.yield()
            for value in [0, 0x7F, 0xFF, bytes[index] ^ 0x80] as [UInt8] {
                var changed = bytes
                changed[index] = value
                look(changed)
            }
        }
    }
}
