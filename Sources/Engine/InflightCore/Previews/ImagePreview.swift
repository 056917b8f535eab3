/// What a picture looks like so far, while the rest of it is on its way: resized and processed as was asked for.
public struct ImagePreview: Sendable {
    public var pixels: PixelBuffer
    /// What the header says.
    public var info: ImageInfo
    /// The bytes of the body that it was made of.
    public var receivedBytes: Int64
    /// Of two previews of one load the later one has more: see ``PartialPicture/detail``.
    public var detail: Int
    /// Whether something is shown everywhere, if coarsely. Else what is missing is transparent.
    public var coversAll: Bool
}

/// Whether a load shows what there is of the picture while it comes, and how often.
///
/// Progressive JPEG and interlaced PNG are shown from edge to edge, coarsely at first; other JPEG, PNG, WebP and GIF from
/// the top down. Other formats are not shown before they are whole.
public struct PreviewOptions: Sendable, Hashable {
    /// The least time from one preview to the next, and before the first: what loads quickly has none.
    public var interval: Duration
    /// With fewer bytes of the body none is made.
    public var minimumBytes: Int64 = 1024

    public init(interval: Duration = .milliseconds(200)) {
        self.interval = interval
    }

    /// Where several want them: as often as any of them does.
    func together(with other: PreviewOptions?) -> PreviewOptions {
        guard let other else { return self }
        var options = PreviewOptions(interval: min(interval, other.interval))
        options.minimumBytes = min(minimumBytes, other.minimumBytes)
        return options
    }
}
