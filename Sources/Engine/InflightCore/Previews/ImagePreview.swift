/// A preview of an image that is still loading, resized and processed as requested.
public struct ImagePreview: Sendable {
    /// The pixels, at the requested size. Unless ``coversAll``, missing parts are transparent.
    public var pixels: PixelBuffer
    /// The information in the image's header.
    public var info: ImageInfo
    /// The number of body bytes that the preview was made from, after content decoding.
    public var receivedBytes: Int64
    /// The amount of detail. Of two previews of one load, the later has more: see ``PartialImage/detail``.
    public var detail: Int
    /// Whether the whole area is covered, if only coarsely.
    public var coversAll: Bool
}

extension ImageRequest {
    /// Options for showing an image progressively while it loads.
    ///
    /// Progressive JPEG and interlaced PNG are shown from edge to edge, coarsely at first; other JPEG, PNG, WebP and
    /// GIF from the top down. Other formats have no previews.
    public struct PreviewOptions: Sendable, Hashable {
        /// The minimum time between previews, and from the start of the body to the first, so that a quick load has
        /// none.
        public var interval: Duration
        /// The minimum number of body bytes for a preview, after content decoding.
        public var minimumBytes: Int64 = 1024

        /// Creates options with a minimum of 1,024 body bytes.
        ///
        /// - Parameter interval: the minimum time between previews. Coalesced requests use the shortest of theirs.
        public init(interval: Duration = .milliseconds(200)) {
            self.interval = interval
        }

        /// Returns options that serve both: the shorter interval and the lower minimum.
        func together(with other: PreviewOptions?) -> PreviewOptions {
            guard let other else { return self }
            var options = PreviewOptions(interval: min(interval, other.interval))
            options.minimumBytes = min(minimumBytes, other.minimumBytes)
            return options
        }
    }
}
