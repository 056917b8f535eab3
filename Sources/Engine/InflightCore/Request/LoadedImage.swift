/// A decoded picture, and where it came from.
public struct LoadedImage: Sendable {
    public var pixels: PixelBuffer
    /// What the header of the source said; sizes and orientation are those before any change.
    public var info: ImageInfo
    /// The answer that the picture was decoded from, without its body: pixels are kept, bytes are not.
    public var head: ResponseHead
    /// The URL that answered, after redirects.
    public var url: String
    /// Bytes of the body, content coding undone.
    public var bodyBytes: Int64
    /// Bytes of the body on the wire.
    public var wireBytes: Int64
    public var source: LoadSource
    /// What the file says beside its pixels, where ``ImageRequest/keepsMetadata`` asks for it: as it stands there, so that
    /// its orientation is that of the file and not of the pixels.
    public var metadata: ImageMetadata?
    /// Whether it is stale: made from a stored response past its freshness lifetime (see ``LoadedResponse/isStale``), or
    /// served from memory after that (see ``ImagePipeline/cached(_:)`` and ``ImageRequest/allowsStaleFromMemory``).
    public var isStale = false
    /// Whether only a part of the picture could be decoded, the rest being transparent or coarse: see
    /// ``ImageRequest/acceptsIncomplete``.
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
