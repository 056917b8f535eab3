/// The information in the header of an image at a URL.
public struct RemoteImageInfo: Sendable {
    public var info: ImageInfo
    /// The URL of the response, after redirects.
    public var url: String
    /// The length of the whole file, if the server announced it.
    public var contentLength: Int64?
    /// The number of bytes that were read to find the information.
    public var readBytes: Int64
    public var source: LoadSource
}
