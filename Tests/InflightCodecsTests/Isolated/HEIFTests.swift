import InflightCodecs
import InflightCore
import InflightPictures
import Testing

@Suite("HEIF boxes", .timeLimit(.minutes(10)))
struct HEIFTests {
    @Test("The size is that of the primary item")
    func primary() throws {
        var pieces = HEIFPieces()
        pieces.types = ["av01", "av01"]
        pieces.properties = [HEIFPieces.size(16, 12), HEIFPieces.size(640, 480)]
        pieces.associations = [[1], [2]]
        #expect(try isolatedInfo(pieces.file, .avif).width == 16)
        pieces.primary = 2
        let info = try isolatedInfo(pieces.file, .avif)
        #expect(info.width == 640 && info.height == 480 && info.format == .avif)
        pieces.brands = ["heic"]
        #expect(try isolatedInfo(pieces.file, .heic).format == .heic)
    }

    @Test("Rotations and mirrors are composed in their order")
    func turns() throws {
        let cases: [([[UInt8]], ImageInfo.Orientation)] = [
            ([], .up), ([HEIFPieces.rotated(1)], .left), ([HEIFPieces.rotated(2)], .down),
            ([HEIFPieces.rotated(3)], .right), ([HEIFPieces.mirrored(1)], .upMirrored),
            ([HEIFPieces.mirrored(0)], .downMirrored),
            ([HEIFPieces.rotated(1), HEIFPieces.mirrored(0)], .leftMirrored),
            ([HEIFPieces.rotated(1), HEIFPieces.mirrored(1)], .rightMirrored),
            ([HEIFPieces.mirrored(1), HEIFPieces.rotated(1)], .leftMirrored),
            ([HEIFPieces.rotated(2), HEIFPieces.mirrored(1)], .downMirrored),
        ]
        for (properties, orientation) in cases {
            var pieces = HEIFPieces()
            pieces.properties += properties
            pieces.associations = [Array(1...properties.count + 1)]
            let info = try isolatedInfo(pieces.file, .avif)
            #expect(info.orientation == orientation)
            #expect(info.storedWidth == 16 && info.width == (orientation.swapsAxes ? 12 : 16))
        }
    }

    @Test("Depth and grey come from the codec header, for a grid from that of its first tile")
    func depth() throws {
        for (bits, isGray) in [(8, false), (10, true), (12, false)] {
            var pieces = HEIFPieces()
            pieces.properties.append(HEIFPieces.codec(bits: bits, isGray: isGray))
            pieces.associations = [[1, 2]]
            #expect(try isolatedInfo(pieces.file, .avif).bitsPerComponent == bits)
            #expect(try isolatedInfo(pieces.file, .avif).colorModel == (isGray ? .gray : .rgb))
            pieces.types = ["grid", "av01"]
            pieces.associations = [[1], [2]]
            pieces.references = [("dimg", 1, [2])]
            #expect(try isolatedInfo(pieces.file, .avif).bitsPerComponent == bits)
        }
        var pieces = HEIFPieces()
        pieces.properties.append(HEIFPieces.full("pixi", [3, 10, 10, 10]))
        pieces.associations = [[1, 2]]
        #expect(try isolatedInfo(pieces.file, .avif).bitsPerComponent == 10)
    }

    @Test("Alpha requires an auxiliary alpha image that refers to the primary item")
    func alpha() throws {
        var pieces = HEIFPieces()
        pieces.types = ["av01", "av01"]
        for (name, isAlpha) in [
            ("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", true), ("urn:mpeg:hevc:2015:auxid:1", true),
            ("urn:mpeg:mpegB:cicp:systems:auxiliary:depth", false),
        ] {
            pieces.properties = [HEIFPieces.size(16, 12), HEIFPieces.auxiliary(name)]
            pieces.associations = [[1], [1, 2]]
            pieces.references = [("auxl", 2, [1])]
            #expect(try isolatedInfo(pieces.file, .avif).hasAlpha == isAlpha)
            pieces.references = [("auxl", 1, [2])]
            #expect(try !isolatedInfo(pieces.file, .avif).hasAlpha)
        }
    }

    @Test("A clean aperture of whole pixels sets the size; an invalid one is unsupported")
    func aperture() throws {
        var pieces = HEIFPieces()
        pieces.properties.append(HEIFPieces.aperture(10, 8))
        pieces.associations = [[1, 2]]
        #expect(try isolatedInfo(pieces.file, .avif).storedWidth == 10)
        #expect(try isolatedInfo(pieces.file, .avif).storedHeight == 8)
        for (width, height) in [(17, 12), (16, 13), (0, 1)] {
            pieces.properties[1] = HEIFPieces.aperture(width, height)
            #expect(isolatedCode(pieces.file, .avif) == .unsupportedFormat)
        }
    }

    @Test("An image sequence gives its still image and reports that it may have more frames")
    func sequence() throws {
        var pieces = HEIFPieces()
        pieces.brands = ["avis", "avif"]
        pieces.behind = HEIFPieces.box("moov", [1, 2, 3, 4])
        let info = try isolatedInfo(pieces.file, .avif)
        #expect(info.frameCount == 1 && info.mayHaveMoreFrames)
        #expect(isolatedDamage(pieces.file, .avif) == nil)
        let film = HEIFPieces.box("ftyp", Array("avis\0\0\0\0avis".utf8)) + pieces.behind
        // `moov` has no track of images.
        #expect(isolatedCode(film, .avif) == .damaged)
    }

    @Test("Probing requests the missing bytes if the header follows other data")
    func late() throws {
        var pieces = HEIFPieces()
        pieces.front = HEIFPieces.box("free", [UInt8](repeating: 0, count: 5000))
        let file = pieces.file
        let start = Bytes(Array(file[..<64]))
        guard case .needsMoreBytes(let count) = try IsolatedFormats.probe(start, format: .avif, isComplete: false)
        else {
            Issue.record("it tells what it cannot know")
            return
        }
        #expect(count > 5000 && count < 5200)
        #expect(try isolatedInfo(file, .avif).width == 16)
    }

    @Test("A HEIF file with items outside the file is damaged")
    func outside() {
        var pieces = HEIFPieces()
        #expect(isolatedDamage(pieces.file, .avif) == nil)
        pieces.shift = 1
        #expect(isolatedDamage(pieces.file, .avif) == .damaged)
        pieces.shift = 0x7FFF_0000
        #expect(isolatedDamage(pieces.file, .avif) == .damaged)
        var cut = HEIFPieces()
        cut.behind = HEIFPieces.box("free", [1, 2, 3, 4])
        #expect(isolatedDamage(cut.file, .avif) == nil)
        #expect(isolatedDamage(Array(cut.file.dropLast()), .avif) == .damaged)
    }

    @Test("An invalid HEIF header is damaged")
    func broken() {
        var noSize = HEIFPieces()
        noSize.associations = [[]]
        #expect(isolatedCode(noSize.file, .avif) == .damaged)
        var noPicture = HEIFPieces()
        noPicture.primary = 9
        #expect(isolatedCode(noPicture.file, .avif) == .damaged)
        let first = HEIFPieces.box("ftyp", Array("avif\0\0\0\0avif".utf8))
        for box in [
            Pieces.big32(4) + Array("meta".utf8), Pieces.big32(0) + Array("mdat".utf8),
            Pieces.big32(1) + Array("mdat".utf8) + [0xFF, 0, 0, 0, 0, 0, 0, 0],
            HEIFPieces.full("meta", []), HEIFPieces.box("meta", []),
        ] {
            #expect(isolatedCode(first + box + [UInt8](repeating: 0, count: 64), .avif) == .damaged)
        }
        // A length near the largest integer.
        let far = Pieces.big32(1) + Array("free".utf8) + [0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        #expect(isolatedCode(first + far, .avif) == .damaged)
        #expect(isolatedCode(HEIFPieces.box("free", [1]) + first, .avif) == .damaged)
    }

    @Test("A list of four billion empty extents passes validation within the time limit")
    func emptyExtents() throws {
        // 65,535 items of as many extents each.
        let item = [0, 1, 0, 0, 0xFF, 0xFF] as [UInt8]
        let items = (0..<65_535).flatMap { _ in item }
        let pieces = HEIFPieces()
        var file = pieces.file
        let locations = HEIFPieces.full("iloc", [0, 0] + Pieces.big16(65_535) + items)
        // Appended after the other boxes of `meta`, so that this box applies.
        let start = try #require((0..<file.count - 4).first { Array(file[$0..<$0 + 4]) == Array("meta".utf8) }) - 4
        let length = file[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        file.insert(contentsOf: locations, at: start + length)
        file.replaceSubrange(start..<start + 4, with: Pieces.big32(length + locations.count))
        #expect(isolatedDamage(file, .avif) == nil)
    }

    private func message(_ file: [UInt8], _ format: ImageFormat) -> String? {
        do throws(LoadError) {
            _ = try IsolatedFormats.info(Bytes(file), format: format, page: 0)
            return nil
        } catch {
            return error.message
        }
    }

    @Test("A malformed list of properties is damaged, and named")
    func malformedList() {
        let one = HEIFPieces.associations([(item: 1, properties: [1])])
        for (boxes, text) in [
            // The same item in two boxes, and twice in one.
            ([one, one], "the properties of item 1 are listed twice (ipma)"),
            (
                [HEIFPieces.associations([(item: 1, properties: [1]), (item: 1, properties: [1])])],
                "the properties of item 1 are listed twice (ipma)"
            ),
            // More entries than there are bytes, a missing property, an unknown version, and no entries.
            ([HEIFPieces.associations([(item: 1, properties: [1])], count: 0xFFFF_FFFF)], "list of properties (ipma)"),
            ([HEIFPieces.associations([(item: 1, properties: [2])])], "list of properties (ipma)"),
            ([HEIFPieces.associations([(item: 1, properties: [1])], version: 2)], "list of properties (ipma)"),
            ([HEIFPieces.full("ipma", [])], "list of properties (ipma)"),
            ([], "its image has no size (ispe)"), ([HEIFPieces.associations([])], "its image has no size (ispe)"),
        ] {
            var pieces = HEIFPieces()
            pieces.associationBoxes = boxes
            #expect(isolatedCode(pieces.file, .avif) == .damaged)
            #expect(message(pieces.file, .avif)?.contains(text) == true, "\(message(pieces.file, .avif) ?? "no error")")
        }
    }

    @Test("Unsupported codecs and headers are named")
    func codecs() {
        for (type, name) in [("unci", "uncompressed"), ("jpeg", "JPEG"), ("vvc1", "H.266"), ("abcd", "abcd")] {
            var pieces = HEIFPieces()
            pieces.types = [type]
            pieces.brands = ["mif1"]
            #expect(ImageFormat.detect(Bytes(pieces.file)) == .heic)
            #expect(isolatedCode(pieces.file, .heic) == .unsupportedFormat)
            #expect(message(pieces.file, .heic)?.contains(name) == true)
        }
        for (version, format) in [("avif", ImageFormat.avif), ("heic", .heic)] {
            let file = HEIFPieces.box("ftyp", Array("mif3\(version)".utf8)) + HEIFPieces.box("mini", [1, 2, 3, 4])
            #expect(ImageFormat.detect(Bytes(file)) == format)
            #expect(isolatedCode(file, format) == .unsupportedFormat)
            #expect(message(file, format)?.contains("mini") == true)
        }
    }

    @Test("An image that is composed of itself, or of nothing, is rejected")
    func compositions() {
        var pieces = HEIFPieces()
        pieces.types = ["grid", "grid"]
        pieces.associations = [[1], [1]]
        #expect(isolatedCode(pieces.file, .avif) == .damaged)
        pieces.references = [("dimg", 1, [1])]
        #expect(isolatedCode(pieces.file, .avif) == .unsupportedFormat)
        pieces.references = [("dimg", 1, [2]), ("dimg", 2, [1])]
        #expect(isolatedCode(pieces.file, .avif) == .unsupportedFormat)
        pieces.references = [("dimg", 1, [9])]
        #expect(isolatedCode(pieces.file, .avif) == .damaged)
    }
}
