/// What the header of a picture at a URL says.
public struct RemoteImageInfo: Sendable {
    public var info: ImageInfo
    /// The URL that answered, after redirects.
    public var url: String
    /// The length of the whole file, where the server told it.
    public var contentLength: Int64?
    /// How many bytes were read to learn this.
    public var readBytes: Int64
    public var source: LoadSource
}
