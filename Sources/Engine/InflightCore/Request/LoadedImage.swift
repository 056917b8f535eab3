/// The result of a load: a decoded image and its origin.
public struct LoadedImage: Sendable {
    /// The pixels, resized and processed as requested.
    public var pixels: PixelBuffer
    /// The information in the source's header. Sizes and orientation are those before any change.
    public var info: ImageInfo
    /// The response that the image was decoded from, without its body, which ``body`` has if it is asked for.
    public var head: ResponseHead
    /// The URL of the response, after redirects.
    public var url: String
    /// The number of bytes of the body, after its content coding is decoded.
    public var bodyBytes: Int64
    /// The number of bytes of the body on the wire, before its content coding was decoded; 0 if it was stored.
    public var wireBytes: Int64
    /// The source of the result: the network, a cache, a file, or the program itself.
    public var source: LoadSource
    /// The file's metadata as it is in the file, if ``ImageRequest/keepsMetadata`` asks for it. Its orientation is that
    /// of the file, not of the pixels.
    public var metadata: ImageMetadata?
    /// The bytes that the image was decoded from, after their content coding is decoded, if ``ImageRequest/keepsBody``
    /// asks for them. Nil for an image of a ``ImageRequest/Source`` that provides pixels.
    public var body: Bytes?
    /// Whether the image is stale: decoded from a stale response (``LoadedResponse/isStale``), or served stale from
    /// memory (``ImagePipeline/cache``, ``ImageRequest/allowsStaleFromMemory``).
    public var isStale = false
    /// Whether only a part of the image could be decoded, and the rest is transparent or coarse. See
    /// ``ImageRequest/allowsPartialImage``.
    public var isIncomplete = false
    /// See ``LoadedResponse/storable``.
    var storable: StorableResponse?
    /// See ``LoadedResponse/lifetime``.
    var lifetime: ImageLifetime?

    /// Creates an image, for example in a cache or a test.
    ///
    /// - Parameters:
    ///   - pixels: the pixels, resized and processed.
    ///   - info: the information in the source's header.
    ///   - head: the response that the image was decoded from, without its body.
    ///   - url: the URL of the response, after redirects.
    ///   - bodyBytes: the number of bytes of the body, after its content coding is decoded.
    ///   - wireBytes: the number of bytes of the body on the wire.
    ///   - source: the source of the result.
    public init(
        pixels: PixelBuffer, info: ImageInfo, head: ResponseHead, url: String, bodyBytes: Int64, wireBytes: Int64,
        source: LoadSource
    ) {
        self.pixels = pixels
        self.info = info
        self.head = head
        self.url = url
        self.bodyBytes = bodyBytes
        self.wireBytes = wireBytes
        self.source = source
    }

    /// Creates an image from pixels of the program, for example for ``ImagePipeline/cache`` or a test.
    ///
    /// The rest is as for an image of a ``ImageRequest/Source``: ``info`` describes the pixels, ``head`` has status 200
    /// and no fields, and no bytes were received.
    ///
    /// - Parameters:
    ///   - pixels: the pixels, resized and processed.
    ///   - url: the URL of the image. It is not validated.
    ///   - format: the format that ``info`` names.
    ///   - source: the source of the image.
    public init(
        pixels: PixelBuffer, url: String = "", format: ImageFormat = .png, source: LoadSource = .source
    ) {
        let info = ImageInfo(
            format: format, storedWidth: pixels.width, storedHeight: pixels.height,
            hasAlpha: pixels.format.alpha != .opaque)
        self.init(
            pixels: pixels, info: info, head: ResponseHead(status: 200, version: .none), url: url, bodyBytes: 0,
            wireBytes: 0, source: source)
    }

    /// The width of ``pixels``, which may differ from that of the file.
    public var width: Int { pixels.width }
    /// The height of ``pixels``, which may differ from that of the file.
    public var height: Int { pixels.height }
}
