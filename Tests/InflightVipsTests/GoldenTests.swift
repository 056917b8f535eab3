import InflightCore
import InflightPictures
import Testing

/// Compares isolated decoding with references computed in double precision from the scene's formula and the profiles'
/// mathematics, never by a decoder. Documentation/Images.md lists the bounds.
@Suite("libvips decoder: golden images", .timeLimit(.minutes(10)))
struct GoldenTests {
    typealias Case = GoldenCase
    typealias Scene = GoldenScene
    typealias Fixtures = GoldenIsolatedFixtures

    static let cases: [Case] = [
        Case(
            name: "AVIF of 10 bits by FFmpeg and rav1e", bytes: Fixtures.avif10, decibels: 47, similarity: 0.998,
            reference: { x, y in Scene.opaque(Scene.deepColor(x, y)) }),
        Case(
            name: "AVIF by Pillow, Display P3", bytes: Fixtures.avifP3, decibels: 43, similarity: 0.995,
            reference: { x, y in Scene.opaque(GoldenProfiles.displayP3.sRGB(Scene.color(x, y))) }),
        Case(
            name: "AVIF with alpha by Pillow", bytes: Fixtures.avifAlpha, decibels: 47, similarity: 0.998,
            reference: { x, y in SIMD4(Scene.color(x, y), Scene.alpha(x, y)) }),
        Case(
            name: "HEIC of 10 bits by x265", bytes: Fixtures.heic10, decibels: 50, similarity: 0.998,
            reference: { x, y in Scene.opaque(Scene.deepColor(x, y)) }),
        Case(
            name: "HEIC by x265, Adobe RGB", bytes: Fixtures.heicAdobe, decibels: 46, similarity: 0.995,
            reference: { x, y in Scene.opaque(GoldenProfiles.adobeRGB.sRGB(Scene.color(x, y))) }),
        Case(
            name: "TIFF of 16 bits by tifffile, Adobe RGB", bytes: Fixtures.tiff16Adobe, decibels: 50,
            similarity: 0.999,
            reference: { x, y in Scene.opaque(GoldenProfiles.adobeRGB.sRGB(Scene.deepColor(x, y))) }),
        Case(
            name: "grey TIFF of 16 bits by tifffile, an exponent of 1.8", bytes: Fixtures.tiffGray, decibels: 58,
            similarity: 0.9995,
            reference: { x, y in
                Scene.opaque(GoldenProfiles.gray.sRGB(SIMD3(repeating: Scene.deep(Scene.gray(x, y), x, y))))
            }),
        Case(
            name: "TIFF of four inks by tifffile", bytes: Fixtures.tiffCMYK, decibels: 56, similarity: 0.999,
            reference: { x, y in Scene.opaque(GoldenProfiles.inks.sRGB(Scene.inks(x, y))) }),
        Case(
            name: "TIFF of 16 bits with alpha by tifffile", bytes: Fixtures.tiffAlpha, decibels: 69, similarity: 0.9995,
            reference: { x, y in SIMD4(Scene.deepColor(x, y), Scene.alpha(x, y)) }),
        Case(
            name: "TIFF of 16 bits with alpha multiplied in, by tifffile", bytes: Fixtures.tiffPremultiplied,
            decibels: 69, similarity: 0.9995, reference: { x, y in SIMD4(Scene.deepColor(x, y), Scene.alpha(x, y)) }),
        Case(
            name: "JPEG XL by libjxl, Adobe RGB", bytes: Fixtures.jxlAdobe, decibels: 57, similarity: 0.9995,
            reference: { x, y in Scene.opaque(GoldenProfiles.adobeRGB.sRGB(Scene.color(x, y))) }),
        Case(
            name: "JPEG XL of four inks by libjxl", bytes: Fixtures.jxlCMYK, decibels: 56, similarity: 0.999,
            reference: { x, y in Scene.opaque(GoldenProfiles.inks.sRGB(Scene.inks(x, y))) }),
        Case(
            name: "JPEG XL of four inks with alpha by libjxl", bytes: Fixtures.jxlCMYKAlpha, decibels: 56,
            similarity: 0.999,
            reference: { x, y in SIMD4(GoldenProfiles.inks.sRGB(Scene.inks(x, y)), Scene.alpha(x, y)) }),
    ]

    @Test("Samples, alpha and profile colours match the reference", arguments: cases)
    func golden(_ example: Case) throws {
        let pixels = try decode(example.bytes)
        #expect(pixels.width == Scene.width && pixels.height == Scene.height)
        let nearness = pixels.nearness(example.reference)
        #expect(nearness.decibels >= example.decibels && nearness.similarity >= example.similarity, "\(nearness)")
    }

    @Test(
        "Display P3 colours declared by nclx are converted to sRGB, and others stay unchanged",
        arguments: [Fixtures.avif10, Fixtures.heic10], [(12, 13, true), (12, 16, false), (1, 13, false)])
    func primaries(_ file: [UInt8], _ points: (primaries: UInt8, transfer: UInt8, isP3: Bool)) throws {
        var file = file
        // ISO/IEC 23008-12 section 6.5.5: primaries, transfer and matrix, two bytes each.
        let name = Array("nclx".utf8)
        let place = try #require(file.indices.first { Array(file[$0...].prefix(4)) == name })
        file[place + 5] = points.primaries
        file[place + 7] = points.transfer
        let pixels = try decode(file)
        let nearness = pixels.nearness { x, y in
            Scene.opaque(points.isP3 ? GoldenProfiles.displayP3.sRGB(Scene.deepColor(x, y)) : Scene.deepColor(x, y))
        }
        #expect(nearness.decibels >= 43 && nearness.similarity >= 0.995, "\(nearness)")
    }

    @Test(
        "Premultiplied output is right for both straight and premultiplied files",
        arguments: [(Fixtures.avifAlpha, 47), (Fixtures.tiffAlpha, 58), (Fixtures.tiffPremultiplied, 58)])
    func premultiplied(_ bytes: [UInt8], _ least: Double) throws {
        var options = DecodeOptions()
        options.premultiplied = true
        let pixels = try decode(bytes, options)
        #expect(pixels.format.alpha == .premultiplied)
        let isDeep = bytes != Fixtures.avifAlpha
        let nearness = pixels.nearness { x, y in
            let alpha = Scene.alpha(x, y)
            return SIMD4((isDeep ? Scene.deepColor(x, y) : Scene.color(x, y)) * (alpha / 255), alpha)
        }
        #expect(nearness.decibels >= least && nearness.similarity >= 0.999, "\(nearness)")
    }

    // Each file states its orientation twice: in its boxes, which count, and in EXIF, which does not.
    @Test("Each HEIC orientation is applied once", arguments: ImageInfo.Orientation.allCases)
    func turned(_ orientation: ImageInfo.Orientation) throws {
        let pixels = try decode(GoldenOrientationFixtures.all[orientation.rawValue - 1])
        #expect(pixels.width == (orientation.swapsAxes ? Scene.height : Scene.width))
        #expect(pixels.height == (orientation.swapsAxes ? Scene.width : Scene.height))
        let nearness = pixels.nearness { x, y in
            let (storedX, storedY) = Scene.stored(orientation, x, y)
            return Scene.opaque(Scene.color(storedX, storedY))
        }
        #expect(nearness.decibels >= 47 && nearness.similarity >= 0.998, "\(nearness)")
    }
}
