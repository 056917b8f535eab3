public import InflightCore

/// The codecs of this module.
public enum Codecs {
    /// All of them: JPEG, PNG, WebP and GIF are read, the first three written.
    public static let standard: [any ImageCodec] = [JPEGCodec(), PNGCodec(), WebPCodec(), GIFCodec()]
}
