import InflightPictures
import Testing

/// Small animations written by another program, as base64, with a formula for their pixels.
///
/// Pillow 13.0 (with libwebp 1.6) saved each from four drawings with `save_all`, `duration=[120, 0, 10, 70]`,
/// `lossless` and `exact` for all WebP but the lossy one, and `loop` and `disposal` as stated below. A drawing is 24 ×
/// 16 pixels of one colour with a rectangle; Pillow writes only the differences between frames.
struct AnimationFixture: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: [UInt8]
    var loopCount: Int?
    /// The drawing that each frame shows.
    var drawings = [0, 1, 2, 3]
    var isOpaque = false
    var hasFaintRectangles = false

    var testDescription: String { name }

    static let width = 24
    static let height = 16
    static let durations: [Duration] = [120, 100, 100, 70].map { .milliseconds($0) }

    static let all = [
        // `disposal=1`, `loop=0`; an interlaced file.
        AnimationFixture(name: "GIF, kept", bytes: keepGIF, loopCount: nil, isOpaque: true),
        // `disposal=2`, `loop=3`: three repetitions after the first time.
        AnimationFixture(name: "GIF, cleared", bytes: clearGIF, loopCount: 4),
        // `disposal=[1, 3, 3, 3]`, no `loop`; the first drawing has no rectangle.
        AnimationFixture(
            name: "GIF, restored", bytes: restoreGIF, loopCount: 1, drawings: [-1, 0, 1, 2], isOpaque: true),
        // `disposal=0`, `loop=0`.
        AnimationFixture(name: "APNG, kept", bytes: keepPNG, loopCount: nil, isOpaque: true),
        // `disposal=1`, `loop=2`.
        AnimationFixture(name: "APNG, cleared", bytes: clearPNG, loopCount: 2, hasFaintRectangles: true),
        // `disposal=2`, `loop=1`.
        AnimationFixture(name: "APNG, restored", bytes: restorePNG, loopCount: 1, hasFaintRectangles: true),
        // `default_image=True`: the fourth drawing is the default image and no frame.
        AnimationFixture(
            name: "APNG, its default image apart", bytes: defaultImagePNG, loopCount: nil, drawings: [0, 1, 2],
            isOpaque: true),
        // `disposal=1`, `blend=1`.
        AnimationFixture(name: "APNG, over one another", bytes: overPNG, loopCount: nil),
        AnimationFixture(name: "WebP, kept", bytes: keepWebP, loopCount: nil, isOpaque: true),
        // `loop=2`.
        AnimationFixture(name: "WebP, cleared", bytes: clearWebP, loopCount: 2, hasFaintRectangles: true),
        // `minimize_size=True`, `loop=1`.
        AnimationFixture(name: "WebP, over one another", bytes: mixedWebP, loopCount: 1),
    ]

    /// A pixel of the frame `index`, as it was drawn.
    func color(_ index: Int, _ x: Int, _ y: Int) -> SIMD4<UInt8> {
        let drawing = drawings[index]
        let isInside =
            drawing >= 0 && (2 + 4 * drawing..<8 + 4 * drawing).contains(x)
            && (1 + 2 * drawing..<6 + 2 * drawing).contains(y)
        guard isInside else { return isOpaque ? SIMD4(12, 34, 56, 255) : .zero }
        let colors: [SIMD4<UInt8>] = [
            SIMD4(220, 40, 30, 255), SIMD4(30, 200, 60, 128), SIMD4(40, 60, 230, 64), SIMD4(240, 220, 20, 200),
        ]
        var color = colors[drawing]
        if !hasFaintRectangles { color.w = 255 }
        return color
    }
}

extension AnimationFixture {
    static let keepGIF = Base64.bytes(
        """
        R0lGODlhGAAQAIEAANwoHgwiOAAAAAAAACH/C05FVFNDQVBFMi4wAwEAAAAh+QQEDAAAACwAAAAAGAAQAAAIMAADCBxIsKDBggASKjzIcKDChQ0Z
        PkwYUeLEigcnAsDIsaPHjyBDihxJsqTJkyUDAgAh+QQFAAACACwCAAEACgAHAIEeyDwMIjgAAAAAAAAIHwADCBwooKCAgQQNIgTAsOHChgwfQjQo
        ACJDihYBBAQAIfkEBQEAAgAsBgADAAoABwCBKDzmDCI4AAAAAAAACB8AAwgcKKCggIEEDSIEwLDhwoYMH0I0KAAiQ4oWAQQEACH5BAUHAAIALAoA
        BQAKAAcAgfDcFAwiOAAAAAAAAAgfAAMIHCigoICBBA0iBMCw4cKGDB9CNCgAIkOKFgEEBAA7
        """)

    static let clearGIF = Base64.bytes(
        """
        R0lGODlhGAAQAIEAAAAAANwoHgAAAAAAACH/C05FVFNDQVBFMi4wAwEDAAAh+QQJDAAAACwAAAAAGAAQAAAIMAABCBxIsKDBggESKjzIcKDChQ0Z
        PkwYUeLEigcnBsDIsaPHjyBDihxJsqTJkyUDAgAh+QQJAAAAACwAAAAAGAAQAIEAAAAeyDwAAAAAAAAIMAABCBxIsKDBgwgTKlzIMIDDhwwNPoQY
        keBEhxUtXsw48GIAjiBDihxJsqTJkycDAgAh+QQJAQAAACwAAAAAGAAQAIEAAAAoPOYAAAAAAAAIMAABCBxIsKDBgwgTKlzIsKHDhwoDSJwIUeBE
        ihUvSqwIQGMAjh45ihxJsqTJkwUDAgAh+QQJBwAAACwAAAAAGAAQAIEAAADw3BQAAAAAAAAILAABCBxIsKDBgwgTKlzIsKHDhxAjSlwYoKJFiRYv
        RsxYESNHjxknihxJUmJAADs=
        """)

    static let restoreGIF = Base64.bytes(
        """
        R0lGODlhGAAQAIEAAAwiOAAAAAAAAAAAACH5BAQMAAAALAAAAAAYABAAAAgiAAEIHEiwoMGDCBMqXMiwocOHECNKnEixosWLGDNq3GgwIAAh+QQN
        AAACACwCAAEABgAFAIHcKB4MIjgAAAAAAAAIDAABCBxIsKDBgwIDAgAh+QQNAQACACwCAAEACgAHAIEeyDwMIjgAAAAAAAAIHwADCBwooKCAgQQN
        IgTAsOHChgwfQjQoACJDihYBBAQAIfkEDQcAAgAsBgADAAoABwCBKDzmDCI4AAAAAAAACB8AAwgcKKCggIEEDSIEwLDhwoYMH0I0KAAiQ4oWAQQE
        ADs=
        """)

    static let keepPNG = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAACGFjVEwAAAAEAAAAAHzNZtAAAAAaZmNUTAAAAAAAAAAYAAAAEAAAAAAAAAAAAAMA
        GQAADkec6QAAADJJREFUeJxj5FGyYKAGYIFQF9ieoUkY/JIiySAmqjhneBsEDWxSgxYTDD6vjRo0og0CAGVeBM7KcmLWAAAAGmZjVEwAAAABAAAA
        CgAAAAcAAAACAAAAAQAAAAEAAIYv4f4AAAAlZmRBVAAAAAJ4nGPkUbJgwA2Y8MgxMDCwIHOElrGgSRPQTVNpAMUWATJKfZlyAAAAGmZjVEwAAAAD
        AAAACgAAAAcAAAAGAAAAAwABAGQAAD+DcMcAAAAjZmRBVAAAAAR4nGPkUbJgwA2Y8MgxMDCwIHNkpNaRppum0gDafgFaJ4XzCwAAABpmY1RMAAAA
        BQAAAAoAAAAHAAAACgAAAAUABwBkAAA0w1DgAAAAJGZkQVQAAAAGeJxj5FGyYMANmPDIMTAwsCBznuy6Q5pumkoDALrFAvBLsMvIAAAAAElFTkSu
        QmCC
        """)

    static let clearPNG = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAYAAAAMJL+VAAAACGFjVEwAAAAEAAAAApLDB/wAAAAaZmNUTAAAAAAAAAAYAAAAEAAAAAAAAAAAAAMA
        GQEAF1ytqAAAACtJREFUeJxjYKAxYIQx7mjI/cemQOXGI0Zs4sQCJko0j1owCkbBKBgFUAAAmAUECp4ZT1EAAAAaZmNUTAAAAAEAAAAGAAAABQAA
        AAYAAAADAAAAAQEA8D0T4gAAABlmZEFUAAAAAnicY5Q7YdPAgAUwYROksgQAyqYBrGSl6e8AAAAaZmNUTAAAAAMAAAAGAAAABQAAAAoAAAAFAAEA
        ZAEABx1HjQAAABlmZEFUAAAABHicY9SweebAgAUwYROksgQAvv4BlGc7UisAAAAaZmNUTAAAAAUAAAAGAAAABQAAAA4AAAAHAAcAZAEAQtGi/AAA
        ABlmZEFUAAAABnicY/xwR+QEAxbAhE2QyhIASQECspX0FbIAAAAASUVORK5CYII=
        """)

    static let restorePNG = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAYAAAAMJL+VAAAACGFjVEwAAAAEAAAAAQvKVkYAAAAaZmNUTAAAAAAAAAAYAAAAEAAAAAAAAAAAAAMA
        GQIAPHH+awAAACtJREFUeJxjYKAxYIQx7mjI/cemQOXGI0Zs4sQCJko0j1owCkbBKBgFUAAAmAUECp4ZT1EAAAAaZmNUTAAAAAEAAAAGAAAABQAA
        AAYAAAADAAAAAQIA2xBAIQAAABlmZEFUAAAAAnicY5Q7YdPAgAUwYROksgQAyqYBrGSl6e8AAAAaZmNUTAAAAAMAAAAOAAAACQAAAAIAAAABAAEA
        ZAIALuhleQAAACBmZEFUAAAABHicY2AY/oCRkAINm2cO2MSZyLVxCGkEAIixAZRyuwBWAAAAGmZjVEwAAAAFAAAADgAAAAkAAAAGAAAAAwAHAGQC
        AGskgAgAAAAgZmRBVAAAAAZ4nGNgGP6AkZCCD3dETmATZyLXxiGkEQChtAKy52u/mQAAAABJRU5ErkJggg==
        """)

    static let defaultImagePNG = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAACGFjVEwAAAADAAAAAM7tusAAAAAwSURBVHicY+RRsmCgBmCiiimjBtHXIBbilT7Z
        dQdNRMZNBc4efF4bfAYxjuY1ggAAu3ED7Rus1lYAAAAaZmNUTAAAAAAAAAAYAAAAEAAAAAAAAAAAAAMAGQAADkec6QAAADZmZEFUAAAAAXicY+RR
        smCgBmCBUBfYnqFJGPySIskgJqo4Z3gbBA1sUoMWEww+r40aNKINAgBlXgTOK2HMoAAAABpmY1RMAAAAAgAAAAoAAAAHAAAAAgAAAAEAAAABAADw
        ytjDAAAAJWZkQVQAAAADeJxj5FGyYMANmPDIMTAwsCBzhJaxoEkT0E1TaQDFFgEybv/IRAAAABpmY1RMAAAABAAAAAoAAAAHAAAABgAAAAMAAQBk
        AABJOuhpAAAAI2ZkQVQAAAAFeJxj5FGyYMANmPDIMTAwsCBzZKTWkaabptIA2n4BWtZf9qEAAAAASUVORK5CYII=
        """)

    static let overPNG = Base64.bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAYAAAAMJL+VAAAACGFjVEwAAAAEAAAAAHzNZtAAAAAaZmNUTAAAAAAAAAAYAAAAEAAAAAAAAAAAAAMA
        GQEBYFudPgAAACtJREFUeJxjYKAxYIQx7mjI/cemQOXGI0Zs4sQCJko0j1owCkbBKBgFUAAAmAUECp4ZT1EAAAAaZmNUTAAAAAEAAAAGAAAABQAA
        AAYAAAADAAAAAQEBhzojdAAAABlmZEFUAAAAAnicY5Q7YfOfAQtgwiZIZQkABrwCKyQbQp4AAAAaZmNUTAAAAAMAAAAGAAAABQAAAAoAAAAFAAEA
        ZAEBcBp3GwAAABlmZEFUAAAABHicY9SwefafAQtgwiZIZQkAGVQCU7SHlwkAAAAaZmNUTAAAAAUAAAAGAAAABQAAAA4AAAAHAAcAZAEBNdaSagAA
        ABlmZEFUAAAABnicY/xwR+Q/AxbAhE2QyhIAYwAC6UPux/oAAAAASUVORK5CYII=
        """)

    static let keepWebP = Base64.bytes(
        """
        UklGRl4BAABXRUJQVlA4WAoAAAASAAAAFwAADwAAQU5JTQYAAAAAAAAAAABBTk1GOAAAAAAAAAAAABcAAA8AAHgAAAJWUDhMIAAAAC8XwAMAD3AD
        kTNAH8d8/iMNYsFk/sz9KUT0P9ABAAAAQU5NRkoAAAABAAAAAAAJAAAHAAAAAAAAVlA4TDIAAAAvCcABEBcgEEhiGX5msWCKB9AVgQBlqjDK/Aeo
        /4GCNlKYZw9/mMQmiIjofwAYe9sf10FOTUZKAAAAAwAAAQAACQAABwAACgAAAFZQOEwyAAAALwnAARAXIBZM8Tg6EwikOIARFggkYU094/wHXHtQ
        0EYK8+zhD5PYBBER/Q8AY2/74xpBTk1GTgAAAAUAAAIAAAkAAAcAAEYAAABWUDhMNgAAAC8JwAEQFyAQSGLZn2BSgUASwP6EgwgEkrD25xhm/gOq
        PyhoI4V59vCHSWyCiIj+B4Cxt/1xDQ==
        """)

    static let clearWebP = Base64.bytes(
        """
        UklGRvQAAABXRUJQVlA4WAoAAAASAAAAFwAADwAAQU5JTQYAAAAAAAAAAgBBTk1GLAAAAAEAAAAAAAUAAAUAAHgAAANWUDhMFAAAAC8FQAEQDzAo
        wz0e8x/wmJ+I/ocPQU5NRiwAAAADAAABAAAFAAAFAAAAAAADVlA4TBQAAAAvBUABEA8wyOMxPAMY8JifiP6HD0FOTUYsAAAABQAAAgAABQAABQAA
        CgAAA1ZQOEwUAAAALwVAARAPMDyDMuYDFPCYn4j+hw9BTk1GLAAAAAcAAAMAAAUAAAUAAEYAAAJWUDhMFAAAAC8FQAEQDzDcAz8UgxzwmJ+I/ocP
        """)

    static let mixedWebP = Base64.bytes(
        """
        UklGRvQAAABXRUJQVlA4WAoAAAASAAAAFwAADwAAQU5JTQYAAAAAAAAAAQBBTk1GLAAAAAEAAAAAAAUAAAUAAHgAAANWUDhMFAAAAC8FQAEQDzAo
        wz0e8x/wmJ+I/ocPQU5NRiwAAAADAAABAAAFAAAFAAAAAAABVlA4TBQAAAAvBUABEA8wyOMxPPMf8JifiP6HD0FOTUYsAAAABQAAAgAABQAABQAA
        CgAAAVZQOEwUAAAALwVAARAPMDyDMubzH/CYn4j+hw9BTk1GLAAAAAcAAAMAAAUAAAUAAEYAAABWUDhMFAAAAC8FQAEQDzDcAz8U8x/wmJ+I/ocP
        """)

    static let lossyWebP = Base64.bytes(
        """
        UklGRs4BAABXRUJQVlA4WAoAAAASAAAAFwAADwAAQU5JTQYAAAAAAAAABQBBTk1GZAAAAAEAAAAAAAUAAAUAAHgAAANBTFBIDAAAAAEPMP8REWJ+
        IvofPlZQOCA4AAAAsAEAnQEqBgAGAADAEiWgAANfFBaXAAD++QooP//s7v/+nd//07v8DH//73T//73T//73T/97JABBTk1GYgAAAAMAAAEAAAUA
        AAUAAAAAAANBTFBIDAAAAAEPMIAREWJ+IvofPlZQOCA2AAAAUAEAnQEqBgAGAADAEiWgAAMYAADWhAGcd//909f/7T1//tPX8wf//7AE//2AJ//s
        AT/r4YAAQU5NRmIAAAAFAAACAAAFAAAFAAAKAAADQUxQSAwAAAABDzBAERFifiL6Hz5WUDggNgAAALABAJ0BKgYABgAAwBIloAADXxQWlwAA/v3Z
        DL//+8Bf/+89H/+8Bf/eAv//52D/70f+mPUQAEFOTUZiAAAABwAAAwAABQAABQAARgAAAkFMUEgMAAAAAQ8wyBERYn4i+h8+VlA4IDYAAACQAQCd
        ASoGAAYAAMASJaAAAzo9G0AA/v7sBCf//x/P//x/P//x/P/4/n//89M//wSf/uX3GAA=
        """)
}
