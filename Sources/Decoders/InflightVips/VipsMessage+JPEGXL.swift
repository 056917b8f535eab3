extension VipsMessage {
    /// The phrases of `jxl.c`, because libjxl reports no reason.
    static let jpegXL: [Phrase] = [
        .unsupported(
            "unsupported kind of cmyk", "it has a black channel with premultiplied alpha or without a CMYK profile"),
        .damaged("malformed header", "its header is malformed"),
        .damaged("malformed codestream", "its codestream is malformed"),
    ]
}
