import InflightImages

extension VipsMessage {
    /// The error that `tiff.c` itself reports, in its own words.
    var tiffError: LoadError? {
        if let range = text.firstRange(of: "unsupported: ") {
            return CodecError.unsupported(.tiff, "\(text[range.upperBound...]) cannot be decoded")
        }
        if let range = text.firstRange(of: "damaged: ") {
            return CodecError.damaged(.tiff, String(text[range.upperBound...]))
        }
        return nil
    }

    /// The phrases of libtiff, and of the libraries that it passes on.
    static let tiff: [Phrase] = [
        .unsupported("cannot handle different", "its samples have different depths"),
        .unsupported("data_precision", "JPEG data of more than 8 bits per sample"),
        .unsupported("data precision", "JPEG data of more than 8 bits per sample"),
        .truncated("not enough data"),
        .truncated("read error"),
        .truncated("premature end"),
        .damaged("read directory", "a page's header is malformed"),
        .damaged("directory", "a page's header is malformed"),
    ]
}
