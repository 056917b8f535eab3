public import InflightConcurrency

/// Reads and writes picture formats. Called on threads of the engine's decode lane, several at once, with no lock held;
/// conformers keep no state between calls.
///
/// Bytes are untrusted: limits are checked on the header, before memory is taken. Errors are thrown without a URL, which
/// the engine adds. `CodecConformance` in the test kit checks any codec.
public protocol ImageCodec: Sendable {
    /// The formats whose pictures this codec reads.
    var decodableFormats: Set<ImageFormat> { get }
    /// The formats that this codec writes.
    var encodableFormats: Set<ImageFormat> { get }

    /// Reads the header at the start of `bytes`, which may be the first part of a picture only.
    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult

    /// Walks the structure of a whole picture from its first byte to its end, without decoding pixels.
    ///
    /// Throws ``LoadError/Code/damaged`` where it is cut short or its structure is broken. Bytes behind the picture's
    /// end are let pass, as every viewer does.
    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError)

    /// Decodes the first frame: orientation applied, colours in sRGB, at the size that `options` want.
    ///
    /// Looks at `cancellation` while it works, and throws ``LoadError/Code/cancelled`` soon after it is set.
    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer

    /// What a whole file says beside its pixels, as far as the codec knows where that stands: by itself nothing. What is
    /// damaged there is left out.
    func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata

    /// Opens a whole picture as an animation; `nil` where it is a still, or where this codec reads stills alone.
    ///
    /// Walks the structure and decodes nothing. A file that is cut short gives the frames that are whole, at least one.
    /// Refuses more frames than ``DecodeOptions/maximumFrames`` as soon as it has counted as many.
    func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)?

    /// Writes pixels as a picture file without metadata. The same pixels and options give the same bytes. A format that
    /// is not among ``encodableFormats`` is refused with ``LoadError/Code/unsupportedFormat``.
    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes
}

extension ImageCodec {
    public func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata { ImageMetadata() }

    public func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)? {
        nil
    }
}

/// What can be said of a picture's first bytes.
public enum ProbeResult: Sendable, Hashable {
    case info(ImageInfo)
    /// The header goes on: ask again with at least that many bytes.
    case needsMoreBytes(Int)
}

/// How a picture is to be decoded.
public struct DecodeOptions: Sendable, Hashable {
    /// The wanted size; `nil`: the picture's own.
    public var resize: Resize?
    /// The byte order and the kind of alpha of the result. A picture without alpha is always
    /// ``PixelBuffer/Format/Alpha/opaque``.
    public var order: PixelBuffer.Format.Order = .rgba
    public var premultiplied = false
    /// More than these, by the header, are refused with ``LoadError/Code/tooManyPixels``; more than four thousand
    /// million (two to the power of 32) always are.
    public var maximumPixels: Int = 100_000_000
    /// An animation of more frames is refused with ``LoadError/Code/tooManyFrames``.
    public var maximumFrames = 10_000
    /// An animation with more pixels in all its frames together, each counted as the whole canvas or more, is refused
    /// with ``LoadError/Code/tooManyPixels``: that much work is one time through it. They are never in memory together.
    public var maximumAnimationPixels = 4_000_000_000

    public init(resize: Resize? = nil) {
        self.resize = resize
    }

    /// The form of the pixels of a picture with alpha, or without.
    package func pixelFormat(hasAlpha: Bool) -> PixelBuffer.Format {
        PixelBuffer.Format(order: order, alpha: hasAlpha ? (premultiplied ? .premultiplied : .straight) : .opaque)
    }
}

/// How a picture is to be written.
public struct EncodeOptions: Sendable, Hashable {
    public var format: ImageFormat
    /// 1 … 100; `nil`: the format's usual (JPEG 85, WebP 80). PNG has none.
    public var quality: Int?
    /// JPEG: stored so that it can be shown coarsely first; usually a few hundredths smaller, and slower to make and to
    /// decode. Other formats have nothing of the kind here.
    public var isProgressive = false
    /// WebP: every pixel as it is. PNG always is; JPEG cannot be, and refuses it.
    public var isLossless = false
    /// What shines through where a format has no alpha: red, green, blue.
    public var background: [UInt8] = [255, 255, 255]

    public init(format: ImageFormat, quality: Int? = nil) {
        self.format = format
        self.quality = quality
    }
}
