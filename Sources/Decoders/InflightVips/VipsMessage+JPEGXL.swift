extension VipsMessage {
    /// The phrases of `jxl.c`, because libjxl reports no reason.
    static let jpegXL: [Phrase] = [
        .damaged("malformed header", "its header is malformed"),
        .damaged("malformed codestream", "its codestream is malformed"),
    ]
}
