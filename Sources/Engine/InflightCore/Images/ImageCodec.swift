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
    /// How files of formats that ``ImageFormat/detect(_:)`` does not know are recognised; empty by default.
    ///
    /// Read once, when the codec is registered. Formats that are not among ``decodableFormats`` are ignored.
    var signatures: [FormatSignature] { get }

    /// Reads the header at the start of `bytes`, which may be the first part of a picture only.
    func probe(_ bytes: Bytes, format: ImageFormat, isComplete: Bool) throws(LoadError) -> ProbeResult

    /// Reads the header of one page of a whole picture, from 0; ``ImageInfo/frameCount`` is the count of all.
    ///
    /// By itself a codec has pictures of one page, and throws ``LoadError/Code/invalidRequest`` for another. So does one
    /// that has pages, for those that are not there.
    func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo

    /// Walks the structure of a whole picture from its first byte to its end, without decoding pixels.
    ///
    /// Throws ``LoadError/Code/damaged`` where it is cut short or its structure is broken. Bytes behind the picture's
    /// end are let pass, as every viewer does.
    func validate(_ bytes: Bytes, format: ImageFormat) throws(LoadError)

    /// Decodes the first frame, or the page that `options` name: orientation applied, colours in sRGB, at the size that `options` want.
    ///
    /// Looks at `cancellation` while it works, and throws ``LoadError/Code/cancelled`` soon after it is set.
    func decode(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError) -> PixelBuffer

    /// Decodes the first frame of an image, or the page that `options` name, and discards its pixels.
    ///
    /// By default decodes as ``decode(_:format:options:cancellation:)`` does, to the size of `options`. A codec that reads
    /// rows discards them instead.
    ///
    /// - Throws: what decoding throws.
    func verify(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, cancellation: CancellationFlag
    ) throws(LoadError)

    /// What decoding takes in memory at its peak, its result included, in bytes: estimated from the header before anything
    /// is taken. By itself all pixels of the picture and of the result, four bytes each.
    func memoryNeeded(_ bytes: Bytes, format: ImageFormat, info: ImageInfo, options: DecodeOptions) -> Int

    /// Decodes what can be shown of a picture of which `bytes` are the first, or whose rest is damaged: `nil` where that is
    /// nothing, or no more than `detail` (see ``PartialPicture/detail``), which is to be found out cheaply where it can
    /// be. By itself always `nil`: nothing of this codec's pictures is shown before they are whole.
    ///
    /// Throws where the header itself is damaged, and what has to do with other things than these bytes: limits, memory,
    /// a cancel.
    func decodePart(
        _ bytes: Bytes, format: ImageFormat, options: DecodeOptions, beyond detail: Int,
        cancellation: CancellationFlag
    ) throws(LoadError) -> PartialPicture?

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

    /// Writes pixels as a picture file, with the metadata that `options` hold and no other. The same pixels and options give the same bytes. A format that
    /// is not among ``encodableFormats`` is refused with ``LoadError/Code/unsupportedFormat``.
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
    ) throws(LoadError) -> PartialPicture? {
        nil
    }

    public func info(_ bytes: Bytes, format: ImageFormat, page: Int) throws(LoadError) -> ImageInfo {
        guard page == 0 else { throw PictureError.noPages(format) }
        guard case .info(let info) = try probe(bytes, format: format, isComplete: true) else {
            throw LoadError(
                .damaged, stage: .decode, message: "The \(format) picture is cut short in its header. Fetch it again.")
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
    /// Which page of a picture that has several, TIFF alone here, from 0. One that is not there, or any but the first of a
    /// format without pages, is refused with ``LoadError/Code/invalidRequest``. Frames of animations are no pages.
    public var page = 0
    /// More than these, by the header, are refused with ``LoadError/Code/tooManyPixels``; more than four thousand
    /// million (two to the power of 32) always are.
    public var maximumPixels: Int = 100_000_000
    /// What decoding may take in memory, in bytes, as the codec estimates it beforehand
    /// (``ImageCodec/memoryNeeded(_:format:info:options:)``): more is refused with ``LoadError/Code/tooMuchMemory``.
    public var maximumMemory: Int = 1 << 30
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
    /// JPEG, PNG and WebP: what is written beside the pixels, ``ImageMetadata/fitted(width:height:)`` to them: they are
    /// upright. `nil`: nothing is, so that nobody tells by accident where he lives. A format that has no place for it here,
    /// or not enough, refuses it with ``LoadError/Code/cannotEncode``.
    public var metadata: ImageMetadata?

    public init(format: ImageFormat, quality: Int? = nil) {
        self.format = format
        self.quality = quality
    }
}
