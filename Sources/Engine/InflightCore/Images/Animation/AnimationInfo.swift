/// What a whole animation says of itself, without decoding it.
public struct AnimationInfo: Sendable, Hashable {
    public var format: ImageFormat
    /// Pixels of the canvas as it is seen, orientation applied, before any resizing.
    public var width: Int
    public var height: Int
    /// How many times all frames are shown; `nil`: for ever.
    public var loopCount: Int?
    /// How long each frame is shown; of a still one that is zero.
    public var durations: [Duration]
    /// Whether the file ends before its animation does, of which the frames that are whole are left.
    public var isCutShort: Bool

    public init(
        format: ImageFormat, width: Int, height: Int, loopCount: Int?, durations: [Duration], isCutShort: Bool = false
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.loopCount = loopCount
        self.durations = durations
        self.isCutShort = isCutShort
    }

    public var frameCount: Int { durations.count }

    /// How long it takes to show all frames once.
    public var duration: Duration { durations.reduce(.zero, +) }
}

extension Duration {
    /// How long a frame is shown whose file says so many milliseconds: up to 10 become 100, as in browsers. Chromium and
    /// WebKit measure frames so in `ImageSource::frameDurationAtIndex` (WebKit's bug 36082), after Firefox's example,
    /// because old files say zero and mean no hurry.
    package static func frame(milliseconds: Int) -> Duration {
        .milliseconds(milliseconds <= 10 ? 100 : milliseconds)
    }
}
