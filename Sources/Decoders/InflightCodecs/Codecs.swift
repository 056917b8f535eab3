public import InflightCore

/// The codecs of this module.
public enum Codecs {
    /// All of them: JPEG, PNG, WebP, GIF, BMP and ICO are read, the first three written.
    public static let standard: [any ImageCodec] = [
        JPEGCodec(), PNGCodec(), WebPCodec(), GIFCodec(), BMPCodec(), ICOCodec(),
    ]
}
