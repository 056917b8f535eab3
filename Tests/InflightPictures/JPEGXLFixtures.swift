package import InflightCore

/// ``Scene`` as JPEG XL. Pillow 13.0 with pillow-jxl-plugin 1.3.8 wrote `lossy`, `alpha` (lossless), `gray`, and
/// `parts`, which carries EXIF metadata and is in `jxlp` boxes. A small program with the encoder of libjxl 0.7.0 wrote
/// the others, lossless: `turned…` have that orientation, `twelveBits` is in a `jxlc` box, `animation` has two frames,
/// the second upside down, `premultiplied` has associated alpha (set in its header by hand, as that version does not
/// write it), `displayP3` declares those primaries, `odd` is black, of 999 × 37 pixels, lossy, with orientation 5, in
/// boxes.
package enum JPEGXLFixtures {
    package static let lossy = Base64.bytes(
        """
        /wpYsAEAE4gAEAJvIgAAgAqVUcYNXs71fPmhw2LaxnWGttq2sISx2V4YJCScwbYJ+HQ3j01hlqTwJdA52bqAbmqQYY8QAqiQApmA26hSFGMkY4xl
        JGNk/r8DQLns9Q9TrsTgcEj125892BRgPW/89dHGXjdPo13MQKv3qq8zq3D458jtM1X7qB2yhYGDYgE=
        """)

    package static let alpha = Base64.bytes(
        """
        /wpYMLASCAAQAKgBSygx3Tyrhz5+LyUUFBYKCgq5wMjIiBp3mZkxJpJCx+A9/Jxw31gWxjAGE8IYTOhGBBiAIAwAINGnTEoC4CDupeH8qqqHHpKy
        hCRsc0RYfwNYf8DHIhXzVI3olf//5//fpWUbK+LoUAhGDw==
        """)

    package static let parts = Base64.bytes(
        """
        AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAAASanhscAAAAAD/ClgwEAkAAAAiRXhpZk1NACoAAAAIAAEBEgADAAAAAQAGAAAAAAAA
        AAAAbGp4bHCAAAABCAABAGgBSygx3Xyjh36IhYKEwo6CQoChBop4MdqYdzH41zw8OToGa0TF4DsVtRABBgAiGsEXAJTBCG1ETt0OOz/cfQkcBwIp
        hPxh8qDQkDsLiHwEfk3ww7nAWaQVxWoH
        """)

    package static let gray = Base64.bytes(
        """
        /wpYMBAUNwIIAAEA1ABLKCTGtxQkBIz0HINVGMPY2JOEeXTpehNDhsU81wM2sskDgu9rBarc8JIqgKoJOWIqdACkAA==
        """)

    package static let grayAlpha = Base64.bytes(
        """
        /wpYMLAobgQICBAA4ABLKDQWPqegYIIRNCmMYYzBWjEqxnCUijFGxcgLHACAAFiQ/Q8eVfv/nam1pUC3OKJBz55QXgoCDQ==
        """)

    package static let tenBits = Base64.bytes(
        """
        /wpYMBQJCAIBABACSygx3aS97Sg8rAoKSoICFChidEQ0KulijEfkooiIijF4qmNExEIEGACI+jA/BPD/j4AAwNcfAAEAuC4XCmgNxZ6jCLtxCUkL
        SYMpeIPl2feos6RgG+8W+Lo90wx1n3Z5hgRPX6KDNheEqFfriIiqzoWIiAoPiNgRs6U4C74GetlxoCBl
        """)

    package static let twelveBits = Base64.bytes(
        """
        AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAADEanhsY/8KWDAYCQgCAQDAAksoo9ymk91a4eA7hQkFCaUUhYjic4LA4Nw2xmCVsdgR
        gxfEMMbgIYxB4UIEGACIejgRAPDPDwkIApN/gUBAEAgEgnGaZaqDrIZx5G4QsrgqHwMo5rgOBUBFeIUKgJKa6xAA0DdzoQCA+vrqAABAhQAAyOal
        TgAAdPZSCACA2jHuBABAgQAACHEkOAEAEIAgDMHjP4TxeDwO/R+Px3sI4fG49X88HldgPTYLIj2uwS4F
        """)

    package static let floats = Base64.bytes(
        """
        AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAAAJanhsbAoAAAHYanhsY/8KWDBykAgCAQAQB0soNBZe3BQkJJSkiAJY3dgYg/mKioqM
        GTMGi0M7MbjFMQazGEsyOkaafxFgABbPbwCObENBQTkKCsp3Pfv66tzcoKCgznoUFISCgrKqLi2NgoIoKGipnIKCKCiowDYUFKSjoKA6y7CvLx4e
        Dvv6nqo8PNzDwz08fPedc3MfHl76/vDwh4c/PFyi6OHhDw9/eDh1jiEO9hQH9Yj6hMrwtFBQ0B7L6fNzB/b1AQEB65JAQAAQEADz8h4ZQUAACAgA
        AQEgICBaEgQEgIAAEBDQwopxcRAQYFh3zyrHeAsvxYc9FhYBpNl6puKVoA6z3lZybJP5SMrKssblmddaQQgIUHaGpsbG1ub2BhcnJzdn0JFEgoDA
        GZoaG1ub2xtcnJzc3FwvHyDuEg9NjY2tze0NLk5Obm6O7vtK3eHMmxobW5vbG1ycnNzcHB198YtGwdoSNrY2tze4ODm5uTk6urpWE4GpgzNsbW5v
        cHFycnNzdHR1dVUfpVza3N7g4uTk5ubo6Orq6iW/xELuwbi9wcXJyc3N0dHV1dXZrYKe2+l8eYOLk5Obm6Ojq6urs7OLB2H/AowAFycnNzdHR1dX
        V2dnd1cNYvoF
        """)

    package static let animation = Base64.bytes(
        """
        /wpYMEETAIgJCAIBAJQBSygx3Xyjh5JYKOwoKCgZwMiIQqKYiTQUMQaviPiccN8LEWAAIOKH/AvAtr9UjdhUta1Ys8jwlR1yEiqIkDcg6wXUneEx
        AzME3Xf/ob2/ze3BLpixjS4wHakADCRBlFkQuD1ACwcIAgUAjAFLGJNuHBxMMTIiKZ5jDF6NZW0MzoyxMTZmDGoMJuRCBBgAiAgo+1nwY6z+/6vy
        /6qBpWYLQ4jB2bHH3DXzFPEhBCAI4UMIDYRAoAeekS63NPwWLibNY8f/////P/L/c/8fPAQ=
        """)

    package static let premultiplied = Base64.bytes(
        """
        /wpYMDAASggIEADkAUsoN9YfvFNQMAVG1C0jlZmJZVAM1oyIQY6NwRNjEBdiMABAhsBEBQAelwHe09PwQY3Avh7n/8rkpTIOYiBkA+grpzPRJc9k
        i57KgSMUOBZHSv0FAl8A0S+aKqrbK6q7yzKbDtppak6i+ocv5Pg4r/MAWovm2mEDIwM=
        """)

    package static let displayP3 = Base64.bytes(
        """
        /wpYMBCQyY0IAgEAlAFLKDHdfKOHklgo7CgoKBnAyIhCopiJNBQxBq+I+Jxw3wsRYAAg4of8C8C2v1SN2FS1rVizyPCVHXISKoiQNyDrBdSd4TED
        MwTdd/+hvb/N7cEumLGNLjAdqQAMJEGUWRC4PUALBw==
        """)

    package static let odd = Base64.bytes(
        """
        AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAABianhsY/8KIIHMhwRyAgASiACkgAUMAAAAAAAAAI/8KQEAUKEhSYDCAAAAliQSIPNW
        LgDvCR4Gg5ACORMnxhjjx4/B8R8fDDeQZwsU09yWAJCNiSG4OiGDhAftAFGSAA==
        """)

    package static let turned2 = Base64.bytes(
        """
        /wpYMAPEBAgCAQCUAUsoMd18o4eSWCjsKCgoGcDIiEKimIk0FDEGr4j4nHDfCxFgACDih/wLwLa/VI3YVLWtWLPI8JUdchIqiJA3IOsF1J3hMQMz
        BN13/6G9v83twS6YsY0uMB2pAAwkQZRZELg9QAsH
        """)

    package static let turned3 = Base64.bytes(
        """
        /wpYMAXEBAgCAQCUAUsoMd18o4eSWCjsKCgoGcDIiEKimIk0FDEGr4j4nHDfCxFgACDih/wLwLa/VI3YVLWtWLPI8JUdchIqiJA3IOsF1J3hMQMz
        BN13/6G9v83twS6YsY0uMB2pAAwkQZRZELg9QAsH
        """)

    package static let turned4 = Base64.bytes(
        """
        /wpYMAfEBAgCAQCUAUsoMd18o4eSWCjsKCgoGcDIiEKimIk0FDEGr4j4nHDfCxFgACDih/wLwLa/VI3YVLWtWLPI8JUdchIqiJA3IOsF1J3hMQMz
        BN13/6G9v83twS6YsY0uMB2pAAwkQZRZELg9QAsH
        """)

    package static let turned5 = Base64.bytes(
        """
        /wpYMAnEBAgCAQCUAUsoMd18o4eSWCjsKCgoGcDIiEKimIk0FDEGr4j4nHDfCxFgACDih/wLwLa/VI3YVLWtWLPI8JUdchIqiJA3IOsF1J3hMQMz
        BN13/6G9v83twS6YsY0uMB2pAAwkQZRZELg9QAsH
        """)

    package static let turned6 = Base64.bytes(
        """
        /wpYMAvEBAgCAQCUAUsoMd18o4eSWCjsKCgoGcDIiEKimIk0FDEGr4j4nHDfCxFgACDih/wLwLa/VI3YVLWtWLPI8JUdchIqiJA3IOsF1J3hMQMz
        BN13/6G9v83twS6YsY0uMB2pAAwkQZRZELg9QAsH
        """)

    package static let turned7 = Base64.bytes(
        """
        /wpYMA3EBAgCAQCUAUsoMd18o4eSWCjsKCgoGcDIiEKimIk0FDEGr4j4nHDfCxFgACDih/wLwLa/VI3YVLWtWLPI8JUdchIqiJA3IOsF1J3hMQMz
        BN13/6G9v83twS6YsY0uMB2pAAwkQZRZELg9QAsH
        """)

    package static let turned8 = Base64.bytes(
        """
        /wpYMA/EBAgCAQCUAUsoMd18o4eSWCjsKCgoGcDIiEKimIk0FDEGr4j4nHDfCxFgACDih/wLwLa/VI3YVLWtWLPI8JUdchIqiJA3IOsF1J3hMQMz
        BN13/6G9v83twS6YsY0uMB2pAAwkQZRZELg9QAsH
        """)

    package static let turned: [(ImageInfo.Orientation, [UInt8])] = [
        (.upMirrored, turned2), (.down, turned3), (.downMirrored, turned4), (.leftMirrored, turned5), (.right, turned6),
        (.rightMirrored, turned7), (.left, turned8),
    ]

    package static let all: [(name: String, bytes: [UInt8])] = [
        ("lossy", lossy),
        ("alpha", alpha),
        ("parts", parts),
        ("gray", gray),
        ("grayAlpha", grayAlpha),
        ("tenBits", tenBits),
        ("twelveBits", twelveBits),
        ("floats", floats),
        ("animation", animation),
        ("premultiplied", premultiplied),
        ("displayP3", displayP3),
        ("odd", odd),
        ("turned2", turned2),
        ("turned3", turned3),
        ("turned4", turned4),
        ("turned5", turned5),
        ("turned6", turned6),
        ("turned7", turned7),
        ("turned8", turned8),
    ]
}
