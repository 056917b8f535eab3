import InflightCore
import InflightPictures
import InflightVips
import Testing

/// The images of the fixtures in other containers, with other properties.
@Suite("libvips decoder: HEIF containers", .timeLimit(.minutes(10)))
struct ContainerTests {
    static let withAlpha = [AVIFFixtures.alpha, HEICFixtures.alpha]

    /// Whether the pixels are those of the scene with alpha, in this orientation.
    private func check(_ file: [UInt8], _ orientation: ImageInfo.Orientation = .up, _ least: Double = 34) throws {
        let info = try info(file)
        #expect(info.hasAlpha && info.orientation == orientation)
        let pixels = try decode(file)
        #expect(pixels.width == (orientation.swapsAxes ? 12 : 16) && pixels.height == (orientation.swapsAxes ? 16 : 12))
        let psnr = pixels.psnr {
            let (x, y) = Scene.stored(orientation, $0, $1)
            return Scene.withAlpha(x, y)
        }
        #expect(psnr > least)
    }

    /// Maps a sample of limited range to full range (ITU-T H.273).
    private func expanded(_ sample: UInt8) -> UInt8 {
        UInt8(min(max((Double(sample) - 16) * 255 / 219, 0), 255).rounded())
    }

    private func expectEqual(
        _ found: PixelBuffer, _ expected: PixelBuffer, within tolerance: Int = 1,
        _ change: (SIMD4<UInt8>) -> SIMD4<UInt8>
    ) {
        #expect(found.width == expected.width && found.height == expected.height)
        for y in 0..<min(found.height, expected.height) {
            for x in 0..<min(found.width, expected.width) {
                let (a, b) = (found[x, y], change(expected[x, y]))
                for i in 0..<4 where abs(Int(a[i]) - Int(b[i])) > tolerance {
                    Issue.record("\(a) instead of \(b) at \(x), \(y)")
                    return
                }
            }
        }
    }

    @Test("Grey of limited range is expanded, whether `colr` or the codec's header declares it")
    func limitedGrey() throws {
        let full = try decode(AVIFFixtures.gray)
        var pieces = HEIFPieces(AVIFFixtures.gray)
        // The last byte of `colr` is the range, and so is a bit in the codec's sequence header.
        let color = try #require(pieces.properties.firstIndex { Array($0[8..<12]) == Array("nclx".utf8) })
        pieces.properties[color][18] = 0
        let change = { (pixel: SIMD4<UInt8>) in
            SIMD4(expanded(pixel.x), expanded(pixel.y), expanded(pixel.z), pixel.w)
        }
        expectEqual(try decode(pieces.file), full, change)
        pieces.itemData[0][11] ^= 0x10
        pieces.associations[0].removeAll { $0 == color + 1 }
        expectEqual(try decode(pieces.file), full, change)
        pieces.itemData[0][11] ^= 0x10
        expectEqual(try decode(pieces.file), full) { $0 }
    }

    @Test("Alpha of limited range is expanded")
    func limitedAlpha() throws {
        let full = try decode(AVIFFixtures.alpha)
        var pieces = HEIFPieces(AVIFFixtures.alpha)
        pieces.itemData[1][8] ^= 0x10
        expectEqual(try decode(pieces.file), full) { SIMD4($0.x, $0.y, $0.z, expanded($0.w)) }
    }

    @Test("RGB of limited range is expanded")
    func limitedRGB() throws {
        var pieces = HEIFPieces(AVIFFixtures.plain)
        let color = try #require(pieces.properties.firstIndex { Array($0[8..<12]) == Array("nclx".utf8) })
        pieces.properties[color][17] = 0
        let full = try decode(pieces.file)
        pieces.properties[color][18] = 0
        expectEqual(try decode(pieces.file), full) {
            SIMD4(expanded($0.x), expanded($0.y), expanded($0.z), $0.w)
        }
    }

    @Test("Transformations of the colours apply to alpha too, also if only the colours have them", arguments: withAlpha)
    func transformedAlpha(_ file: [UInt8]) throws {
        for (property, orientation) in [
            (HEIFPieces.rotated(1), ImageInfo.Orientation.left), (HEIFPieces.rotated(2), .down),
            (HEIFPieces.mirrored(0), .downMirrored), (HEIFPieces.mirrored(1), .upMirrored),
        ] {
            var pieces = HEIFPieces(file)
            pieces.add(property)
            try check(pieces.file, orientation)
            // The alpha's own transformations do not count.
            pieces.add(HEIFPieces.rotated(3), to: 2)
            try check(pieces.file, orientation)
        }
    }

    @Test("A crop of the colours applies to alpha too")
    func croppedAlpha() throws {
        var pieces = HEIFPieces(AVIFFixtures.alpha)
        pieces.add(HEIFPieces.aperture(8, 6))
        let pixels = try decode(pieces.file)
        #expect(pixels.width == 8 && pixels.height == 6)
        #expect(pixels.psnr { Scene.withAlpha($0 + 4, $1 + 3) } > 34)
    }

    @Test(
        "AVIF of 10 and 12 bits is mirrored and rotated",
        arguments: [AVIFFixtures.tenBits, AVIFFixtures.twelveBits])
    func deep(_ file: [UInt8]) throws {
        for (property, orientation) in [
            (HEIFPieces.mirrored(0), ImageInfo.Orientation.downMirrored), (HEIFPieces.mirrored(1), .upMirrored),
            (HEIFPieces.rotated(1), .left),
        ] {
            var pieces = HEIFPieces(file)
            pieces.add(property)
            let psnr = try decode(pieces.file).psnr {
                let (x, y) = Scene.stored(orientation, $0, $1)
                return Scene.color(x, y)
            }
            #expect(psnr > 38)
        }
    }

    @Test("Transformations may precede the size", arguments: withAlpha)
    func order(_ file: [UInt8]) throws {
        var pieces = HEIFPieces(file)
        pieces.add(HEIFPieces.rotated(1), first: true)
        try check(pieces.file, .left)
    }

    @Test("Properties may be listed in several boxes, also alike ones, in any order", arguments: withAlpha)
    func boxes(_ file: [UInt8]) throws {
        var pieces = HEIFPieces(file)
        let lists = pieces.associations
        for version in [0, 1] {
            let boxes = [
                HEIFPieces.associations([(item: 1, properties: lists[0])]),
                HEIFPieces.associations([(item: 2, properties: lists[1])], version: version),
            ]
            pieces.associationBoxes = boxes
            try check(pieces.file)
            pieces.associationBoxes = [HEIFPieces.associations([])] + boxes.reversed()
            try check(pieces.file)
        }
    }

    @Test("A grid has the alpha of its tiles, or of its own", arguments: [false, true])
    func grid(_ hasOwnAlpha: Bool) throws {
        var pieces = HEIFPieces(AVIFFixtures.alpha)
        // Two columns and one row (ISO/IEC 23008-12 section 6.6.2.3).
        let grid: [UInt8] = [0, 0, 0, 1] + Pieces.big16(32) + Pieces.big16(12)
        pieces.properties.append(HEIFPieces.size(32, 12))
        pieces.types += ["grid", "grid"]
        pieces.itemData += [grid, grid]
        pieces.primary = 3
        pieces.associations += [[pieces.properties.count], [pieces.properties.count]]
        let auxiliary = try #require(pieces.properties.firstIndex { Array($0[4..<8]) == Array("auxC".utf8) })
        pieces.associations[3].append(auxiliary + 1)
        pieces.references = [("dimg", 3, [1, 1])]
        pieces.references += hasOwnAlpha ? [("auxl", 4, [3]), ("dimg", 4, [2, 2])] : [("auxl", 2, [1])]
        #expect(try info(pieces.file).hasAlpha)
        let pixels = try decode(pieces.file)
        #expect(pixels.width == 32 && pixels.psnr { Scene.withAlpha($0 % 16, $1) } > 34)
        if !hasOwnAlpha {
            // Another tile without alpha.
            pieces.types.append("av01")
            pieces.itemData.append(pieces.itemData[0])
            pieces.associations.append(pieces.associations[0])
            pieces.references[0] = ("dimg", 3, [1, 5])
            #expect(code { _ = try decode(pieces.file) } == .unsupportedFormat)
        }
    }

    @Test("Alpha of another size is scaled to the colours")
    func smallAlpha() throws {
        var pieces = HEIFPieces(AVIFFixtures.plain)
        let other = HEIFPieces(GoldenIsolatedFixtures.avifAlpha)
        pieces.types.append("av01")
        pieces.itemData.append(other.itemData[1])
        let count = pieces.properties.count
        pieces.properties += other.properties
        pieces.associations.append(other.associations[1].map { $0 + count })
        pieces.references = [("auxl", 2, [1])]
        let (pixels, whole) = (try decode(pieces.file), try decode(GoldenIsolatedFixtures.avifAlpha))
        #expect(whole.width == 32 && whole.height == 24 && pixels.format == .rgba)
        for y in 1..<11 {
            for x in 1..<15 {
                let mean = (0..<4).reduce(0) { $0 + Int(whole[2 * x + $1 % 2, 2 * y + $1 / 2].w) } / 4
                #expect(abs(Int(pixels[x, y].w) - mean) < 24, "\(x), \(y)")
            }
        }
    }

    @Test("Alpha that is much larger than the colours is unsupported")
    func largeAlpha() throws {
        var pieces = HEIFPieces(AVIFFixtures.alpha)
        pieces.properties.append(HEIFPieces.size(65, 12))
        pieces.associations[1].insert(pieces.properties.count, at: 0)
        #expect(code { _ = try decode(pieces.file) } == .unsupportedFormat)
    }

    @Test("Colours that are multiplied by alpha are divided by it")
    func premultiplied() throws {
        let straight = try decode(AVIFFixtures.alpha)
        var pieces = HEIFPieces(AVIFFixtures.alpha)
        pieces.references.append(("prem", 1, [2]))
        expectEqual(try decode(pieces.file), straight, within: 2) { pixel in
            guard pixel.w > 0 else { return .zero }
            let divided = (0..<3).map { UInt8(min(255, (Int(pixel[$0]) * 255 + Int(pixel.w) / 2) / Int(pixel.w))) }
            return SIMD4(divided[0], divided[1], divided[2], pixel.w)
        }
    }

    @Test("A sequence without a still gives its first image, with alpha", arguments: withAlpha)
    func sequence(_ file: [UInt8]) throws {
        // The images of the HEIC file are larger, and cropped.
        let side = file == AVIFFixtures.alpha ? (16, 12) : (64, 64)
        let bytes = HEIFPieces(file).sequence(width: side.0, height: side.1)
        try validate(bytes)
        let info = try info(bytes)
        #expect(info.mayHaveMoreFrames && info.hasAlpha)
        #expect(try decode(bytes).psnr(Scene.withAlpha) > 34)
        for length in stride(from: 64, to: bytes.count, by: 97) {
            #expect(code { try validate(Array(bytes[..<length])) } == .damaged)
        }
    }

    @Test("A sequence with a still needs no brand of still images")
    func stillOfSequence() throws {
        var pieces = HEIFPieces(AVIFFixtures.alpha)
        pieces.brands = ["avis", "msf1", "iso8"]
        try check(pieces.file)
        try validate(pieces.file)
    }

    @Test("A `meta` box may extend to the end of the file")
    func openMeta() throws {
        var pieces = HEIFPieces(AVIFFixtures.alpha)
        pieces.isOpen = true
        try check(pieces.file)
        try validate(pieces.file)
    }
}
