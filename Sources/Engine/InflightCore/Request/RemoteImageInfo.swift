/// The information in the header of an image at a URL.
public struct RemoteImageInfo: Sendable {
    /// The format, sizes and other properties that the header declares.
    public var info: ImageInfo
    /// The URL of the response, after redirects.
    public var url: String
    /// The length of the whole file in bytes; nil if the server did not announce it.
    public var contentLength: Int64?
    /// The number of bytes that were read to find the information.
    public var readBytes: Int64
    /// The source of the bytes: the network, the store, a file, or the program itself.
    public var source: LoadSource
}
