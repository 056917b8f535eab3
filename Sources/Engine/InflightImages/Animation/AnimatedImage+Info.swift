extension AnimatedImage {
    /// The properties of a whole animation, read without decoding.
    public struct Info: Sendable, Hashable {
        public var format: ImageFormat
        /// The size of the canvas in pixels as displayed, with the orientation applied, before any resizing.
        public var width: Int
        public var height: Int
        /// The number of times to play all frames; `nil` for endless repetition.
        public var loopCount: Int?
        /// The time for which each frame is shown; zero for a still.
        public var durations: [Duration]
        /// Whether the file is truncated. Then only the complete frames remain.
        public var isCutShort: Bool

        public init(
            format: ImageFormat, width: Int, height: Int, loopCount: Int?, durations: [Duration],
            isCutShort: Bool = false
        ) {
            self.format = format
            self.width = width
            self.height = height
            self.loopCount = loopCount
            self.durations = durations
            self.isCutShort = isCutShort
        }

        public var frameCount: Int { durations.count }

        /// The time to play all frames once.
        public var duration: Duration { durations.reduce(.zero, +) }
    }
}

extension Duration {
    /// Returns the display time of a frame from the milliseconds in its file. Up to 10 become 100, as in browsers,
    /// because old files say zero without meaning it. Chromium and WebKit do so in
    /// `ImageRequest.Source::frameDurationAtIndex` (WebKit bug 36082), after Firefox's example.
    package static func frame(milliseconds: Int) -> Duration {
        .milliseconds(milliseconds <= 10 ? 100 : milliseconds)
    }
}
