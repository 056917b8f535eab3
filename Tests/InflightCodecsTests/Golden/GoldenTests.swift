import InflightCore
import InflightPictures
import Testing

/// Compares in-process decoding with references computed in double precision from the scene's formula and the profiles'
/// mathematics, never by a decoder. Documentation/Images.md lists the bounds.
@Suite("Golden images", .timeLimit(.minutes(10)))
struct GoldenTests {
    typealias Case = GoldenCase
    typealias Scene = GoldenScene
    typealias Fixtures = GoldenFixtures

    @Test("The colours of a profile are converted to sRGB", arguments: profiles)
    func colors(_ example: Case) throws { try check(example) }

    @Test("Samples and alpha match the reference at any depth", arguments: plain)
    func samples(_ example: Case) throws { try check(example) }

    private func check(_ example: Case) throws {
        let pixels = try decode(example.bytes)
        #expect(pixels.width == Scene.width && pixels.height == Scene.height)
        let nearness = pixels.nearness(example.reference)
        #expect(nearness.decibels >= example.decibels && nearness.similarity >= example.similarity, "\(nearness)")
    }

    private static let wide = GoldenProfiles.displayP3
    private static let adobe = GoldenProfiles.adobeRGB

    static let profiles: [Case] = [
        Case(
            name: "PNG by FFmpeg, Display P3", bytes: png(Fixtures.png, wide), decibels: 58, similarity: 0.9995,
            reference: color(wide)),
        Case(
            name: "PNG by FFmpeg, Adobe RGB", bytes: png(Fixtures.png, adobe), decibels: 58, similarity: 0.9995,
            reference: color(adobe)),
        Case(
            name: "JPEG by FFmpeg, Display P3", bytes: Pieces.jpeg(Fixtures.jpeg, profile: wide.bytes), decibels: 43,
            similarity: 0.995, reference: color(wide)),
        Case(
            name: "JPEG by Pillow, Adobe RGB", bytes: Pieces.jpeg(Fixtures.pillowJPEG, profile: adobe.bytes),
            decibels: 43, similarity: 0.995, reference: color(adobe)),
        Case(
            name: "PNG of 16 bits by FFmpeg, Adobe RGB", bytes: png(Fixtures.png16, adobe), decibels: 57,
            similarity: 0.9995,
            reference: { x, y in Scene.opaque(adobe.sRGB(Scene.deepColor(x, y))) }),
        Case(
            name: "PNG of 16 bits by FFmpeg, linear light", bytes: png(Fixtures.png16, GoldenProfiles.linear),
            decibels: 59, similarity: 0.9995, reference: linear),
        Case(
            name: "grey PNG of 16 bits by FFmpeg, linear light",
            bytes: png(Fixtures.pngGray16Alpha, GoldenProfiles.linearGray),
            decibels: 63, similarity: 0.9995,
            reference: { x, y in
                let gray = Scene.deep(Scene.gray(x, y), x, y)
                return SIMD4(GoldenProfiles.linearGray.sRGB(SIMD3(repeating: gray)), Scene.alpha(x, y))
            }),
        Case(
            name: "PNG of 16 bits by FFmpeg, gamma 1",
            bytes: Pieces.png(Fixtures.png16, adding: Pieces.chunk("gAMA", Pieces.big32(100_000))), decibels: 59,
            similarity: 0.9995, reference: linear),
        Case(
            name: "PNG by FFmpeg, Display P3 by number", bytes: png(Fixtures.png, coded: 12, 13), decibels: 58,
            similarity: 0.9995, reference: color(wide)),
        Case(
            name: "PNG by FFmpeg, BT.2020 by number", bytes: png(Fixtures.png, coded: 9, 14), decibels: 58,
            similarity: 0.9995, reference: color(GoldenProfiles.bt2020)),
        Case(
            name: "PNG of 16 bits by FFmpeg, linear light by number", bytes: png(Fixtures.png16, coded: 1, 8),
            decibels: 59, similarity: 0.9995, reference: linear),
        Case(
            name: "PNG by FFmpeg, Display P3 of limited range by number",
            bytes: png(Fixtures.png, coded: 12, 13, isFullRange: false), decibels: 57, similarity: 0.9995,
            reference: { x, y in
                let light = (Scene.color(x, y) - 16) * (255.0 / 219)
                return Scene.opaque(wide.sRGB(light.clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255))))
            }),
        Case(
            name: "grey PNG by FFmpeg, an exponent of 1.8", bytes: png(Fixtures.pngGray, GoldenProfiles.gray),
            decibels: 58, similarity: 0.9995, reference: gray),
        Case(
            name: "grey JPEG by Pillow, an exponent of 1.8",
            bytes: Pieces.jpeg(Fixtures.pillowGrayJPEG, profile: GoldenProfiles.gray.bytes), decibels: 50,
            similarity: 0.998, reference: gray),
        Case(
            name: "JPEG of four inks by Pillow",
            bytes: Pieces.jpeg(Fixtures.pillowCMYKJPEG, profile: GoldenProfiles.inks.bytes), decibels: 48,
            similarity: 0.998, reference: { x, y in Scene.opaque(GoldenProfiles.inks.sRGB(Scene.inks(x, y))) }),
        Case(
            name: "lossless WebP by Pillow, Display P3", bytes: webP(Fixtures.losslessWebP, wide, hasAlpha: true),
            decibels: 58, similarity: 0.9995,
            reference: { x, y in SIMD4(wide.sRGB(Scene.color(x, y)), Scene.alpha(x, y)) }),
        Case(
            name: "lossy WebP by Pillow, Adobe RGB", bytes: webP(Fixtures.lossyWebP, adobe, hasAlpha: false),
            decibels: 26, similarity: 0.98, reference: color(adobe)),
    ]

    static let plain: [Case] = [
        Case(
            name: "PNG by FFmpeg", bytes: Fixtures.png, decibels: 100, similarity: 1,
            reference: { x, y in Scene.opaque(Scene.color(x, y)) }),
        Case(
            name: "PNG with alpha by FFmpeg", bytes: Fixtures.pngAlpha, decibels: 100, similarity: 1,
            reference: { x, y in SIMD4(Scene.color(x, y), Scene.alpha(x, y)) }),
        Case(
            name: "PNG of 16 bits by FFmpeg", bytes: Fixtures.png16, decibels: 65, similarity: 0.9995,
            reference: { x, y in Scene.opaque(Scene.deepColor(x, y)) }),
        Case(
            name: "PNG of 16 bits with alpha by FFmpeg", bytes: Fixtures.png16Alpha, decibels: 69, similarity: 0.9995,
            reference: { x, y in SIMD4(Scene.deepColor(x, y), Scene.alpha(x, y)) }),
        Case(
            name: "grey PNG of 16 bits with alpha by FFmpeg", bytes: Fixtures.pngGray16Alpha, decibels: 69,
            similarity: 0.9995,
            reference: { x, y in
                SIMD4(SIMD3(repeating: Scene.deep(Scene.gray(x, y), x, y)), Scene.alpha(x, y))
            }),
        Case(
            name: "JPEG by FFmpeg", bytes: Fixtures.jpeg, decibels: 43, similarity: 0.995,
            reference: { x, y in Scene.opaque(Scene.color(x, y)) }),
        Case(
            name: "JPEG by Pillow", bytes: Fixtures.pillowJPEG, decibels: 43, similarity: 0.995,
            reference: { x, y in Scene.opaque(Scene.color(x, y)) }),
        Case(
            name: "lossless WebP with alpha by Pillow", bytes: Fixtures.losslessWebP, decibels: 100, similarity: 1,
            reference: { x, y in SIMD4(Scene.color(x, y), Scene.alpha(x, y)) }),
    ]

    @Test(
        "Premultiplied output matches the reference in both byte orders",
        arguments: [Fixtures.pngAlpha, Fixtures.png16Alpha, Fixtures.losslessWebP],
        [PixelBuffer.Format.Order.rgba, .bgra])
    func premultiplied(_ bytes: [UInt8], _ order: PixelBuffer.Format.Order) throws {
        var options = DecodeOptions()
        options.order = order
        options.premultiplied = true
        let pixels = try decode(bytes, options)
        #expect(pixels.format.alpha == .premultiplied && pixels.format.order == order)
        let isDeep = bytes == Fixtures.png16Alpha
        let nearness = pixels.nearness { x, y in
            let alpha = Scene.alpha(x, y)
            return SIMD4((isDeep ? Scene.deepColor(x, y) : Scene.color(x, y)) * (alpha / 255), alpha)
        }
        #expect(nearness.decibels >= 58 && nearness.similarity >= 0.9995, "\(nearness)")
    }

    @Test("Each EXIF orientation is applied once, in JPEG and PNG", arguments: ImageInfo.Orientation.allCases)
    func turned(_ orientation: ImageInfo.Orientation) throws {
        let exif = Pieces.exif(orientation: orientation.rawValue)
        let jpeg = Pieces.jpeg(Fixtures.jpeg, adding: 0xE1, Array("Exif\0\0".utf8) + exif)
        let png = Pieces.png(Fixtures.png, adding: Pieces.chunk("eXIf", exif))
        for (file, decibels, similarity) in [(jpeg, 43.0, 0.995), (png, 100.0, 1.0)] {
            let pixels = try decode(file)
            #expect(pixels.width == (orientation.swapsAxes ? Scene.height : Scene.width))
            #expect(pixels.height == (orientation.swapsAxes ? Scene.width : Scene.height))
            let nearness = pixels.nearness { x, y in
                let (storedX, storedY) = Scene.stored(orientation, x, y)
                return Scene.opaque(Scene.color(storedX, storedY))
            }
            #expect(nearness.decibels >= decibels && nearness.similarity >= similarity, "\(nearness)")
        }
    }

    // MARK: - Files and references

    private static func png(_ file: [UInt8], _ profile: GoldenProfile) -> [UInt8] {
        Pieces.png(file, adding: Pieces.iccp(profile.bytes, name: "golden"))
    }

    /// The PNG with colours by number (ITU-T H.273): primaries and transfer.
    private static func png(
        _ file: [UInt8], coded primaries: UInt8, _ transfer: UInt8, isFullRange: Bool = true
    ) -> [UInt8] {
        Pieces.png(file, adding: Pieces.chunk("cICP", [primaries, transfer, 0, isFullRange ? 1 : 0]))
    }

    /// The file's only chunk behind a header and the profile (RFC 9649 section 2.7.1).
    private static func webP(_ file: [UInt8], _ profile: GoldenProfile, hasAlpha: Bool) -> [UInt8] {
        let canvas = Pieces.webPCanvas(width: Scene.width, height: Scene.height, flags: hasAlpha ? 0x30 : 0x20)
        let count = profile.bytes.count
        let padding = [UInt8](repeating: 0, count: count % 2)
        return Pieces.webP(
            canvas + Array("ICCP".utf8) + Pieces.little32(count) + profile.bytes + padding + file[12...])
    }

    private static func color(_ profile: GoldenProfile) -> @Sendable (Int, Int) -> SIMD4<Double> {
        { x, y in Scene.opaque(profile.sRGB(Scene.color(x, y))) }
    }

    private static let linear: @Sendable (Int, Int) -> SIMD4<Double> = { x, y in
        Scene.opaque(GoldenProfiles.linear.sRGB(Scene.deepColor(x, y)))
    }

    private static let gray: @Sendable (Int, Int) -> SIMD4<Double> = { x, y in
        Scene.opaque(GoldenProfiles.gray.sRGB(SIMD3(repeating: Scene.gray(x, y))))
    }
}
