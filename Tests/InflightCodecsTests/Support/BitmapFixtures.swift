import InflightPictures

/// Bitmaps and icons of ``Scene`` from other programs. Pillow 9.4: the 24-bit, 1-bit and palette BMP, the icons with a
/// PNG and a bitmap. ImageMagick 6.9: runs (`-compress RLE BMP3:`), OS/2 header (`BMP2:`), bit fields
/// (`bmp:subtype=RGB565`, with `-define`), alpha (`bmp:format=bmp4`), the icons of 32 bits and with a palette. The
/// top-down one is ImageMagick's flipped image, height negated. Plainly stored pixels and palettes are computed here.
extension Fixtures {
    static let rgbBMP =
        Base64.bytes("Qk12AgAAAAAAADYAAAAoAAAAEAAAAAwAAAABABgAAAAAAEACAADEDgAAxA4AAAAAAAAAAAAA")
        + pixels()

    static let oneBitBMP = Base64.bytes(
        """
        Qk1uAAAAAAAAAD4AAAAoAAAAEAAAAAwAAAABAAEAAAAAADAAAADEDgAAxA4AAAIAAAACAAAAAAAAAP////+qqgAAVVUAAKqqAABVVQAAqqoA
        AFVVAACqqgAAVVUAAKqqAABVVQAAqqoAAFVVAAA=
        """)

    static let paletteBMP =
        Base64.bytes("Qk32AwAAAAAAADYDAAAoAAAAEAAAAAwAAAABAAgAAAAAAMAAAADEDgAAxA4AAMAAAADAAAAA")
        + palette + indices

    static let runsBMP =
        Base64.bytes("Qk3QBQAAAAAAADYEAAAoAAAAEAAAAAwAAAABAAgAAQAAAJoBAAAAAAAAAAAAAAABAAAAAQAA") + palette
        + Base64.bytes(
            """
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAGwAbEBsgGzAbQBtQG2AbcBuAG5AboBuwG8Ab0BvgG/AAABoAGhAaIBowGkAaUBpgGnAagBqQGqAasBrAGtAa4BrwAAAZABkQGSAZMBlAGV
            AZYBlwGYAZkBmgGbAZwBnQGeAZ8AAAGAAYEBggGDAYQBhQGGAYcBiAGJAYoBiwGMAY0BjgGPAAABcAFxAXIBcwF0AXUBdgF3AXgBeQF6AXsBfAF9
            AX4BfwAAAWABYQFiAWMBZAFlAWYBZwFoAWkBagFrAWwBbQFuAW8AAAFQAVEBUgFTAVQBVQFWAVcBWAFZAVoBWwFcAV0BXgFfAAABQAFBAUIBQwFE
            AUUBRgFHAUgBSQFKAUsBTAFNAU4BTwAAATABMQEyATMBNAE1ATYBNwE4ATkBOgE7ATwBPQE+AT8AAAEgASEBIgEjASQBJQEmAScBKAEpASoBKwEs
            AS0BLgEvAAABEAERARIBEwEUARUBFgEXARgBGQEaARsBHAEdAR4BHwAAAQABAQECAQMBBAEFAQYBBwEIAQkBCgELAQwBDQEOAQ8AAAAB
            """)

    static let os2BMP = Base64.bytes("Qk1aAgAAAAAAABoAAAAMAAAAEAAMAAEAGAA=") + pixels()

    static let fieldsBMP = Base64.bytes(
        """
        Qk0KAgAAAAAAAIoAAAB8AAAAEAAAAAwAAAABABAAAwAAAIABAAAAAAAAAAAAAAAAAAAAAAAAAPgAAOAHAAAfAAAAAAAAAEJHUnMAAAAAAAAA
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAA7Q7uHu8m8DbxRvFW8mbzbvR+9Y72nveu
        +L75xvrW++ZMDk0eTiZPNlBGUVZRZlJuU35UjlWeVq5XvljGWdZa5qsNrB2tJa41r0WwVbFlsW2yfbONtJ21rba9t8W41bnlCg0LHQwlDTUO
        RQ9VEGURbRF9Eo0TnRStFb0WxRfVGOVpDGocayRsNG1EblRvZHBscXxxjHKcc6x0vHXEdtR35MgLyRvKI8szzEPNU85jz2vQe9GL0ZvSq9O7
        1MPV09bjJwsoGykjKjMrQyxTLWMuay97MIsxmzGrMrszwzTTNeOmCqcaqCKpMqpCq1KsYq1qrnqvirCasaqxurLCs9K04gUKBhoHIggyCUIK
        UgtiDGoNeg6KD5oQqhG6EcIS0hPiZAllGWYhZzFoQWlRamFraWx5bYlumW+pcLlxwXHRcuHDCMQYxSDGMMdAyFDJYMpoy3jMiM2YzqjPuNDA
        0dDR4CIIIxgkICUwJkAnUChgKWgqeCuILJgtqC64L8Aw0DHg
        """)

    static let alphaBMP =
        Base64.bytes(
            """
            Qk2KAwAAAAAAAIoAAAB8AAAAEAAAAAwAAAABACAAAwAAAAADAAAAAAAAAAAAAAAAAAAAAAAAAAD/AAD/AAD/AAAAAAAA/0JHUnMAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAA
            """)
        + pixels { [$0] }

    static let topDownBMP =
        Base64.bytes("Qk12AgAAAAAAADYAAAAoAAAAEAAAAPT///8BABgAAAAAAEACAAAAAAAAAAAAAAAAAAAAAAAA")
        + pixels(topDown: true)

    static let pngICO = Base64.bytes(
        """
        AAABAAEAEAwAAAAAIABiAAAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAQAAAADAgGAAAAa+c9gQAAAClJREFUeJxj5GIVYeBn4EDGDWj8ejQ+
        CmZhEOFgYGAgH48aMGrA4DAAAIgvCQXwsHutAAAAAElFTkSuQmCC
        """)

    static let bitmapICO =
        Base64.bytes("AAABAAEAEAwAAAAAIAAoAwAAFgAAACgAAAAQAAAAGAAAAAEAIAAAAAAAAAMAAMQOAADEDgAAAAAAAAAAAAA=")
        + pixels { [$0] }

    static let deepICO =
        Base64.bytes("AAABAAEAEAwAAAEAIABYAwAAFgAAACgAAAAQAAAAGAAAAAEAIAAAAAAAAAMAAAAAAAAAAAAAAAAAAAAAAAA=")
        + pixels { [$0] } + (0..<12).flatMap { _ in [0xF0, 0, 0, 0] }

    static let paletteICO =
        Base64.bytes("AAABAAEAEAwAAAEACAAYBQAAFgAAACgAAAAQAAAAGAAAAAEACAAAAAAAwAAAAAAAAAAAAAAAAAEAAAABAAA=")
        + palette + [UInt8](repeating: 0, count: 256) + indices + [UInt8](repeating: 0, count: 48)

    /// The pixels, blue first, each followed by the bytes that `alpha` returns for its fourth channel.
    private static func pixels(topDown: Bool = false, alpha: (UInt8) -> [UInt8] = { _ in [] }) -> [UInt8] {
        (0..<Scene.width * Scene.height).flatMap { index in
            let (y, x) = index.quotientAndRemainder(dividingBy: Scene.width)
            let pixel = Scene.withAlpha(x, topDown ? y : Scene.height - 1 - y)
            return [pixel[2], pixel[1], pixel[0]] + alpha(pixel[3])
        }
    }

    /// One colour for each pixel, from the top down.
    private static var palette: [UInt8] { pixels(topDown: true) { _ in [0] } }

    private static var indices: [UInt8] {
        (0..<Scene.height).reversed().flatMap { y in (0..<Scene.width).map { UInt8(y * Scene.width + $0) } }
    }

    static let bitmaps: [(name: String, bytes: [UInt8])] = [
        ("rgbBMP", rgbBMP),
        ("oneBitBMP", oneBitBMP),
        ("paletteBMP", paletteBMP),
        ("runsBMP", runsBMP),
        ("os2BMP", os2BMP),
        ("fieldsBMP", fieldsBMP),
        ("alphaBMP", alphaBMP),
        ("topDownBMP", topDownBMP),
        ("pngICO", pngICO),
        ("bitmapICO", bitmapICO),
        ("deepICO", deepICO),
        ("paletteICO", paletteICO),
    ]
}
