/// A decoded image, and where it came from.
public struct LoadedImage: Sendable {
    public var pixels: PixelBuffer
    /// The information in the source's header. Sizes and orientation are those before any change.
    public var info: ImageInfo
    /// The response that the image was decoded from, without its body: the pixels are retained, the bytes are not.
    public var head: ResponseHead
    /// The URL of the response, after redirects.
    public var url: String
    /// The number of bytes of the body, after its content coding is decoded.
    public var bodyBytes: Int64
    /// The number of bytes of the body on the wire.
    public var wireBytes: Int64
    public var source: LoadSource
    /// The file's metadata as it is in the file, if ``ImageRequest/keepsMetadata`` asks for it. Its orientation is that
    /// of the file, not of the pixels.
    public var metadata: ImageMetadata?
    /// Whether the image is stale: decoded from a stale response (``LoadedResponse/isStale``), or served stale from
    /// memory (``ImagePipeline/cached(_:)``, ``ImageRequest/allowsStaleFromMemory``).
    public var isStale = false
    /// Whether only a part of the image could be decoded, and the rest is transparent or coarse. See
    /// ``ImageRequest/allowsPartialImage``.
    public var isIncomplete = false
    /// See ``LoadedResponse/storable``.
    var storable: StorableAnswer?
    /// See ``LoadedResponse/lifetime``.
    var lifetime: ImageLifetime?

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

    public var width: Int { pixels.width }
    public var height: Int { pixels.height }
}
