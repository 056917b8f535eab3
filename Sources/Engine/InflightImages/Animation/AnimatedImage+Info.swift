extension AnimatedImage {
    /// The properties of a whole animation, read without decoding.
    public struct Info: Sendable, Hashable {
        /// The format of the file.
        public var format: ImageFormat
        /// The width of the canvas in pixels as displayed, with the orientation applied, before any resizing.
        public var width: Int
        /// The height of the canvas in pixels as displayed, with the orientation applied, before any resizing.
        public var height: Int
        /// The number of times to play all frames; `nil` for endless repetition.
        public var loopCount: Int?
        /// The time for which each frame is shown, in the order of the frames; one of zero for a still.
        public var durations: [Duration]
        /// Whether the file is truncated. Then only the complete frames remain.
        public var isCutShort: Bool

        /// Creates the properties of an animation.
        ///
        /// - Parameters:
        ///   - format: the format of the file.
        ///   - width: the width of the canvas in pixels as displayed.
        ///   - height: the height of the canvas in pixels as displayed.
        ///   - loopCount: the number of times to play all frames; `nil` for endless repetition.
        ///   - durations: the time for which each frame is shown.
        ///   - isCutShort: whether the file is truncated.
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

        /// The number of frames: that of ``durations``.
        public var frameCount: Int { durations.count }

        /// The time to play all frames once. Each access adds up all ``durations``.
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
