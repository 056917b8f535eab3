public import InflightConcurrency

/// Decodes and encodes image formats.
///
/// The engine decodes on threads of its decode lane. It also reads headers on threads that receive bodies, and checks
/// the structure of short JPEG, PNG, GIF and WebP files on threads that read them from a store. It makes several calls
/// at once, with no lock held. Conformers keep no state between calls. Bytes are untrusted: check limits on the header
/// before allocating memory. Throw errors without a URL, which the engine adds. `CodecConformance` in the test kit
/// checks any codec.
///
/// The parameter `format` of each method is one of ``decodableFormats``, which the caller has detected.
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
    ///
    /// Called again with more bytes as they arrive, each time from the first byte.
    ///
    /// - Parameters:
    ///   - bytes: the file from its first byte.
    ///   - format: the detected format.
    ///   - isComplete: whether `bytes` are the whole file, so that an unfinished header is damaged.
    /// - Throws: ``LoadError/Code/damaged`` if the header is malformed, or truncated although `bytes` are complete;
    ///   ``LoadError/Code/unsupportedFormat`` for a kind of image that the codec does not support.
    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult

    /// Reads the header of one page of a complete image. ``ImageInfo/frameCount`` counts all pages.
    ///
    /// By default a codec supports images of one page: calls ``probe(_:format:isComplete:)`` for the first and throws
    /// for another.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - format: the detected format.
    ///   - page: the page, from 0.
    /// - Throws: ``LoadError/Code/invalidRequest`` for a page that does not exist, and the errors of
    ///   ``probe(_:format:isComplete:)``.
    func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo

    /// Walks the structure of a complete image from its first byte to its end, without decoding pixels.
    ///
    /// Bytes after the image's end are ignored, as every viewer does. A codec may decode an image whose structure does
    /// not show its end.
    ///
    /// - Throws: ``LoadError/Code/damaged`` if the image is truncated or its structure is broken.
    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError)

    /// Returns whether an image that passes ``validate(_:format:)`` contains the marker that ends it, if its format has
    /// one that may be missing. By default returns `true`.
    ///
    /// Called for a body that ended with its connection, without a length: such an image may lack more than its marker.
    func hasEndMarker(_ bytes: Bytes, format: ImageFormat) -> Bool

    /// Decodes the first frame, or the page that `options` select, upright, in sRGB and at the size of `options`.
    ///
    /// Checks `cancellation` while it runs.
    ///
    /// - Throws: ``LoadError/Code/cancelled`` soon after the flag is set; ``LoadError/Code/damaged`` if the image is
    ///   truncated or corrupt; ``LoadError/Code/tooManyPixels`` if the header exceeds the limit of `options`.
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

    /// Returns an estimate, from the header, of the peak memory of decoding, in bytes, including the result.
    ///
    /// By default, counts all pixels of the image and of the result at four bytes each. `bytes` may be only the first
    /// part of the file.
    ///
    /// - Parameters:
    ///   - bytes: the file from its first byte.
    ///   - format: the detected format.
    ///   - info: the header's contents.
    ///   - options: the page and the target size.
    func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int

    /// Decodes the displayable part of a truncated or damaged image.
    ///
    /// By default always returns `nil`: this codec's images are shown only when complete.
    ///
    /// - Parameters:
    ///   - bytes: the bytes received so far, or a damaged file.
    ///   - format: the detected format.
    ///   - options: the target size, the pixel format and the limits.
    ///   - detail: the ``PartialImage/detail`` shown so far; 0 if none.
    ///   - cancellation: checked while decoding.
    /// - Returns: `nil` if there is no displayable part, or if its detail is at most `detail`, which is checked cheaply
    ///   where possible.
    /// - Throws: ``LoadError/Code/damaged`` if the header itself is damaged, and errors unrelated to these bytes:
    ///   limits, memory, cancellation.
    func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialImage?

    /// Returns a complete file's metadata, as far as the codec can locate it. By default it is empty.
    ///
    /// Skips damaged parts.
    ///
    /// - Throws: ``LoadError/Code/damaged`` if the header cannot be read.
    func metadata(_ bytes: Bytes, format: ImageFormat) throws(LoadError) -> ImageMetadata

    /// Opens a complete image as an animation.
    ///
    /// Walks the structure and decodes nothing. A truncated file yields its complete frames, at least one. By default
    /// returns `nil`.
    ///
    /// - Returns: `nil` if it is a still, or if this codec decodes only stills.
    /// - Throws: ``LoadError/Code/tooManyFrames`` as soon as it has counted more frames than
    ///   ``DecodeOptions/maximumFrames``; ``LoadError/Code/damaged`` if not even one frame is complete.
    func animation(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions
    ) throws(LoadError) -> (any AnimationSource)?

    /// Encodes pixels as an image file, with the metadata of `options` and no other.
    ///
    /// The same pixels and options yield the same bytes. It cannot be cancelled.
    ///
    /// - Throws: ``LoadError/Code/unsupportedFormat`` for a format that is not among ``encodableFormats``;
    ///   ``LoadError/Code/cannotEncode`` if the format cannot hold these pixels, or if an option is invalid.
    func encode(_ pixels: PixelBuffer, options: EncodeOptions) throws(LoadError) -> Bytes

    /// Decodes the first frame of an image and encodes it, if that takes less than one after the other.
    ///
    /// By default returns `nil`. The result has the size of ``decode(_:format:options:cancellation:)``, and may differ
    /// from its pixels as far as an encoding with losses does. Not called for a crop by
    /// ``Resize/Gravity/interest`` or for ``Resize/Fit/pad``. Checks `cancellation` while it decodes.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - format: the detected format.
    ///   - decoding: the page, the target size and the limits.
    ///   - encoding: the format of the result, which this codec need not encode, the quality and the metadata.
    ///   - cancellation: checked while decoding.
    /// - Returns: the file, or `nil` if the image is to be decoded and encoded instead.
    /// - Throws: the errors of decoding and of encoding.
    func reencode(
        _ bytes: Bytes, format: ImageFormat, decoding: DecodeOptions, encoding: EncodeOptions,
        cancellation: CancellationFlag
    ) throws(LoadError) -> Bytes?
}

extension ImageCodec {
    public var signatures: [FormatSignature] { [] }

    public func hasEndMarker(_ bytes: Bytes, format: ImageFormat) -> Bool { true }

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

    public func reencode(
        _ bytes: Bytes, format: ImageFormat, decoding: DecodeOptions, encoding: EncodeOptions,
        cancellation: CancellationFlag
    ) throws(LoadError) -> Bytes? {
        nil
    }

    public func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        guard page == 0 else { throw CodecError.pagesUnsupported(format) }
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
    /// The contents of the complete header.
    case info(ImageInfo)
    /// The header continues. Call again with at least that many bytes, counted from the start of the file.
    case needsMoreBytes(Int)
}

/// The options of decoding an image.
public struct DecodeOptions: Sendable, Hashable {
    /// The requested size; if nil, the image's own.
    public var resize: Resize?
    /// The byte order of the result.
    public var order: PixelBuffer.Format.Order = .rgba
    /// Whether the result's colours are multiplied by alpha. An image without alpha is always
    /// ``PixelBuffer/Format/Alpha/opaque``.
    public var premultiplied = false
    /// The page of a multi-page image, from 0. Of the standard formats, only TIFF has pages. A page that does not
    /// exist, or any but the first of a format without pages, fails with ``LoadError/Code/invalidRequest``. Frames of
    /// animations are not pages.
    public var page = 0
    /// The maximum number of pixels that the header may declare, and that the result may have. More fail with
    /// ``LoadError/Code/tooManyPixels``, and more than 2^32 (four thousand million) always do.
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

    /// Creates options with the default limits, for pixels in the order red, green, blue and straight alpha.
    ///
    /// - Parameter resize: the requested size; if nil, the image's own.
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
    /// The format of the file, one of the encodable ones.
    public var format: ImageFormat
    /// The quality, 1 … 100; if nil, the format's default (JPEG 85, WebP 80, AVIF 60). PNG has none.
    ///
    /// Any other value fails with ``LoadError/Code/cannotEncode``, except for PNG, which ignores it.
    public var quality: Int?
    /// Whether a JPEG is progressive: usually a few percent smaller, and slower to encode and to decode. Other formats
    /// ignore it.
    public var isProgressive = false
    /// Whether a WebP is lossless. PNG always is; JPEG cannot be, and encoding fails with
    /// ``LoadError/Code/cannotEncode``.
    public var isLossless = false
    /// The colour behind transparent pixels in JPEG, which has no alpha: exactly three bytes, red, green and blue.
    public var background: [UInt8] = [255, 255, 255]
    /// The metadata to write to JPEG, PNG and WebP, adapted to the upright pixels by
    /// ``ImageMetadata/fitted(width:height:)``. If nil, none is written, so that a location is not published by
    /// accident. Another format, or a JPEG without enough space for it, fails with
    /// ``LoadError/Code/cannotEncode``.
    public var metadata: ImageMetadata?

    /// Creates options without metadata.
    ///
    /// - Parameters:
    ///   - format: the format of the file.
    ///   - quality: the quality, 1 … 100; if nil, the format's default.
    public init(format: ImageFormat, quality: Int? = nil) {
        self.format = format
        self.quality = quality
    }
}
