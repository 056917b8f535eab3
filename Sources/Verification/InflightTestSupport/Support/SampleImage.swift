public import InflightCore

/// Small image files for tests: 8 × 6 pixels, red growing to the right, green downwards, and half of blue.
///
/// ```swift
/// transport.serve(url, .ok(SampleImage.png))
/// ```
public enum SampleImage {
    /// A PNG of 8 bits without alpha, whose pixels are exact: `(x * 255 / 7, y * 255 / 5, 128)`.
    public static let png = bytes(
        """
        iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAY0lEQVR42g3JMQEAMQgEQcTgABNRQhcPa4ESI1GBAszc/7RjZrhxjGuU
        8Yw1ZJgFHpzgBhW8YAPFH4knJ7lJJS/ZRPlH481pblPNa7ZR/zH4cIY71PCGHTR/CBdHXFHiiRUSH+E0R79dlganAAAAAElFTkSuQmCC
        """)

    /// The same image as a JPEG, whose colours are approximate.
    public static let jpeg = bytes(
        """
        /9j/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQME
        BAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAGAAgDAREAAhEB
        AxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKB
        kaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKT
        lJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEB
        AQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYk
        NOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmq
        srO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDsfg3+xT4f/cfNB2/hP+FeJnnH
        mL13Pm/CzxMxv7vfof/Z
        """)

    /// The same image as a lossless WebP.
    public static let webp = bytes(
        """
        UklGRgoBAABXRUJQVlA4WAoAAAAIAAAABwAABQAAVlA4TCkAAAAvB0ABAJkyRPQ/NhHR/4CCtm0Ycyp/drsMBAIpHKYHMCZAAYPBEqn/
        AABFWElGugAAAEV4aWYAAElJKgAIAAAABgASAQMAAQAAAAEAAAAaAQUAAQAAAFYAAAAbAQUAAQAAAF4AAAAoAQMAAQAAAAIAAAATAgMA
        AQAAAAEAAABphwQAAQAAAGYAAAAAAAAALxkBAOgDAAAvGQEA6AMAAAYAAJAHAAQAAAAwMjEwAZEHAAQAAAABAgMAAKAHAAQAAAAwMTAw
        AaADAAEAAAD//wAAAqAEAAEAAAAIAAAAA6AEAAEAAAAGAAAAAAAAAA==
        """)

    /// The same image as a GIF of one frame, whose colours are approximate.
    public static let gif = bytes(
        """
        R0lGODlhCAAGAIUAAEdwTLbMgLb/gJH/gG2ZgJHMgG3MgP//gNr/gLaZgNrMgLZmgJFmgNqZgJGZgP/MgJEzgG1mgEiZgEjMgCTMgG3/
        gEj/gCT/gAD/gP8AgNoAgLYAgP8zgNozgLYzgP9mgNpmgP+ZgJEAgG0zgEhmgCSZgADMgG0AgEgAgCQAgAAAgEgzgCQzgAAzgCRmgABm
        gACZgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACH/C05FVFNDQVBFMi4wAwEAAAAh+QQFAAAAACwA
        AAAACAAGAAAGLEBVCnUSbTSZFms1gng6nJeLFGEsQB9YSUJwJBohE2ViKAQUD8zFUhkIEIcgADs=
        """)

    /// The first half of ``png``, which is damaged.
    public static let truncated = Bytes(Array(png.array.prefix(png.count / 2)))

    /// An HTML page, as a captive portal sends in the place of an image.
    public static let page = Bytes("<!doctype html><title>Sign in</title>")

    private static func bytes(_ text: String) -> Bytes {
        Bytes(Base64.decoded(Array(text.utf8)) ?? [])
    }
}
