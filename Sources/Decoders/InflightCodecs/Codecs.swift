public import InflightImages

/// The codecs of this module, which run in the program.
public enum Codecs {
    /// All codecs of this module. They read JPEG, PNG, WebP, GIF, BMP and ICO, and write the first three.
    public static let standard: [any ImageCodec] = [
        JPEGCodec(), PNGCodec(), WebPCodec(), GIFCodec(), BMPCodec(), ICOCodec(),
    ]
}
