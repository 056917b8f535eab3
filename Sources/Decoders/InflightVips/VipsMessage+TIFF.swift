extension VipsMessage {
    /// The phrases of libtiff and of libvips's TIFF loader, and those of `tiff.c`.
    static let tiff: [Phrase] = [
        .damaged("missing palette", "its palette is missing"),
        .damaged("strips without a size", "its strips or tiles have no size"),
        .damaged("a strip is too short", "a strip or tile is too short"),
        .damaged("malformed header", "its header is malformed"),
    ]
}
