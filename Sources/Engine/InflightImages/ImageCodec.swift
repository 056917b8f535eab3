public import InflightConcurrency

/// Decodes and encodes image formats.
///
/// The engine calls a codec on threads of its decode lane, several calls at once, with no lock held. Conformers keep no
/// state between calls. Bytes are untrusted: check limits on the header before allocating memory. Throw errors without
/// a URL, which the engine adds. `CodecConformance` in the test kit checks any codec.
public protocol ImageCodec: Sendable {
    /// The formats that this codec decodes.
    var decodableFormats: Set<ImageFormat> { get }
    /// The formats that this codec encodes.
    var encodableFormats: Set<ImageFormat> { get }
    /// The signatures of formats that ``ImageFormat/detect(_:)`` does not know; empty by default.
    ///
    /// Read once, when the codec is registered. Formats that are not among ``decodableFormats`` are ignored.
    var signatures: [FormatSignature] { get }

    /// Reads the header at the start of `bytes`, which may be only the first part of an image.
    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult

    /// Reads the header of one page of a complete image, from 0. ``ImageInfo/frameCount`` counts all pages.
    ///
    /// By default a codec supports images of one page and throws ``LoadError/Code/invalidRequest`` for another. A codec
    /// that supports pages throws it for pages that do not exist.
    func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo

    /// Walks the structure of a complete image from its first byte to its end, without decoding pixels.
    ///
    /// Throws ``LoadError/Code/damaged`` if the image is truncated or its structure is broken. Bytes after the image's
    /// end are ignored, as every viewer does.
    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError)

    /// Decodes the first frame, or the page that `options` select, upright, in sRGB and at the size of `options`.
    ///
    /// Checks `cancellation` while it runs, and throws ``LoadError/Code/cancelled`` soon after the flag is set.
    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer

    /// Decodes the first frame of an image, or the page that `options` select, and discards its pixels.
    ///
    /// By default decodes as ``decode(_:format:options:cancellation:)`` does, to the size of `options`. A codec that
    /// reads rows discards them instead.
    ///
    /// - Throws: the errors of decoding.
    func verify(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError)

    /// Returns an estimate, from the header, of the peak memory of decoding, in bytes, including the result. By
    /// default, counts all pixels of the image and of the result at four bytes each.
    func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int

    /// Decodes the displayable part of a truncated or damaged image.
    ///
    /// Returns `nil` if there is none, or if its ``PartialImage/detail`` is at most `detail`, which is checked
    /// cheaply where possible. By default always returns `nil`: this codec's images are shown only when complete.
    /// Throws if the header itself is damaged, and for failures unrelated to these bytes: limits, memory, cancellation.
    func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage?

    /// Returns a complete file's metadata, as far as the codec can locate it; empty by default. Skips damaged parts.
    func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata

    /// Opens a complete image as an animation. Returns `nil` if it is a still, or if this codec decodes only stills.
    ///
    /// Walks the structure and decodes nothing. A truncated file yields its complete frames, at least one. Throws as
    /// soon as it has counted more frames than ``DecodeOptions/maximumFrames``.
    func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)?

    /// Encodes pixels as an image file, with the metadata of `options` and no other.
    ///
    /// The same pixels and options yield the same bytes. Throws ``LoadError/Code/unsupportedFormat`` for a format that
    /// is not among ``encodableFormats``.
    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes
}

extension ImageCodec {
    public var signatures: [FormatSignature] { [] }

    public func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int {
        DecodeMemory.bytes(for: info, options, perPixel: 4)
    }

    public func verify(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) {
        _ = try decode(bytes, format: format, options: options, cancellation: cancellation)
    }

    public func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage? {
        nil
    }

    public func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        guard page == 0 else { throw PictureError.noPages(format) }
        guard case .info(let info) = try probe(bytes, format: format, isComplete: true) else {
            throw LoadError(
                .damaged, stage: .decode, message: "The \(format) image is truncated in its header. Fetch it again.")
        }
        return info
    }

    public func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata { ImageMetadata() }

    public func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)? {
        nil
    }
}

/// The result of reading the header from an image's first bytes.
public enum ProbeResult: Sendable, Hashable {
    case info(ImageInfo)
    /// The header continues. Call again with at least that many bytes.
    case needsMoreBytes(Int)
}

/// The options of decoding an image.
public struct DecodeOptions: Sendable, Hashable {
    /// The requested size; if nil, the image's own.
    public var resize: Resize?
    /// The byte order and, with ``premultiplied``, the alpha of the result. An image without alpha is always
    /// ``PixelBuffer/Format/Alpha/opaque``.
    public var order: PixelBuffer.Format.Order = .rgba
    public var premultiplied = false
    /// The page of a multi-page image (only TIFF here), from 0. A page that does not exist, or any but the first of a
    /// format without pages, fails with ``LoadError/Code/invalidRequest``. Frames of animations are not pages.
    public var page = 0
    /// The maximum number of pixels that the header may declare. More fail with ``LoadError/Code/tooManyPixels``, and
    /// more than 2^32 (four thousand million) always do.
    public var maximumPixels: Int = 100_000_000
    /// The maximum memory of decoding, in bytes, as the codec estimates it beforehand
    /// (``ImageCodec/memoryNeeded(_:format:info:options:)``). More fails with ``LoadError/Code/tooMuchMemory``.
    public var maximumMemory: Int = 1 << 30
    /// The maximum number of frames of an animation. More fail with ``LoadError/Code/tooManyFrames``.
    public var maximumFrames = 10_000
    /// The maximum number of pixels in all frames of an animation, each counted as at least the whole canvas. It bounds
    /// the work of playing the animation once; the frames are never in memory together. More fail with
    /// ``LoadError/Code/tooManyPixels``.
    public var maximumAnimationPixels = 4_000_000_000

    public init(resize: Resize? = nil) {
        self.resize = resize
    }

    /// Returns the pixel format for an image with or without alpha.
    package func pixelFormat(hasAlpha: Bool) -> PixelBuffer.Format {
        PixelBuffer.Format(order: order, alpha: hasAlpha ? (premultiplied ? .premultiplied : .straight) : .opaque)
    }
}

/// The options of encoding an image.
public struct EncodeOptions: Sendable, Hashable {
    public var format: ImageFormat
    /// The quality, 1 … 100; if nil, the format's default (JPEG 85, WebP 80). PNG has none.
    public var quality: Int?
    /// Whether a JPEG is progressive: usually a few percent smaller, and slower to encode and to decode. Other formats
    /// ignore it.
    public var isProgressive = false
    /// Whether a WebP is lossless. PNG always is; JPEG cannot be, and encoding fails.
    public var isLossless = false
    /// The colour behind transparent pixels in formats without alpha: red, green, blue.
    public var background: [UInt8] = [255, 255, 255]
    /// The metadata to write to JPEG, PNG and WebP, adapted to the upright pixels by
    /// ``ImageMetadata/fitted(width:height:)``. If nil, none is written, so that a location is not published by
    /// accident. A format that does not support it here, or lacks the space for it, fails with
    /// ``LoadError/Code/cannotEncode``.
    public var metadata: ImageMetadata?

    public init(format: ImageFormat, quality: Int? = nil) {
        self.format = format
        self.quality = quality
    }
}
