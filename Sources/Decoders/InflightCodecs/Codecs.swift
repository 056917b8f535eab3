public import InflightImages

/// The codecs of this module.
public enum Codecs {
    /// All of them. They read JPEG, PNG, WebP, GIF, BMP and ICO, and write the first three.
    public static let standard: [any ImageCodec] = [
        JPEGCodec(), PNGCodec(), WebPCodec(), GIFCodec(), BMPCodec(), ICOCodec(),
    ]
}
