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
        .unsupported("cannot handle different", "samples of different depths cannot be decoded"),
        .unsupported("invalid td_samplesperpixel", "YCbCr colours with further samples cannot be decoded"),
        .unsupported("jpeg process", "this kind of JPEG compression, such as lossless JPEG, cannot be decoded"),
        .unsupported("data precision", "JPEG compression with more than 8 bits per sample cannot be decoded"),
        .unsupported("not configured", "its compression cannot be decoded"),
        .unsupported("jpeg compression support", "its compression cannot be decoded"),
        .damaged("missing jpeg tables", "the tables of its old-style JPEG compression are missing"),
        .damaged("read error", "its pixels end early"),
        .damaged("not enough data", "its pixels end early"),
        .damaged("premature end", "its pixels end early"),
        .damaged("strip size", "its strips or tiles have no size"),
        .damaged("tile size", "its strips or tiles have no size"),
        .damaged("directory", "the header of a page is malformed"),
        .damaged("zipdecode", "its compressed data is invalid"),
        .damaged("lzw", "its compressed data is invalid"),
        .damaged("code not yet in table", "its compressed data is invalid"),
        .damaged("packbits", "its compressed data is invalid"),
        .damaged("jpeg", "its compressed data is invalid"),
        .damaged("fax", "its compressed data is invalid"),
        .damaged("decod", "its compressed data is invalid"),
    ]
}
