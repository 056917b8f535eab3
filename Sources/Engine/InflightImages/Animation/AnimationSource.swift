public import InflightConcurrency

/// A whole animation as stored in its file: the position of each frame on the canvas, and each frame's own pixels.
///
/// A codec provides one for its format. The engine composes and resizes the frames, and finds the frames that each
/// depends on. Sources are immutable: frames are decoded on any thread, in any order, one at a time per
/// ``AnimatedImage``.
public protocol AnimationSource: Sendable {
    /// The format, canvas size and orientation of the animation. The frame count and alpha are ignored.
    var info: ImageInfo { get }
    /// The number of times to play all frames; `nil` for endless repetition.
    var loopCount: Int? { get }
    /// The complete frames in the order of display, at least one.
    var frames: [AnimationFramePlan] { get }
    /// Whether the file is truncated, so that frames may be missing from ``frames``.
    var isCutShort: Bool { get }

    /// Decodes one frame by itself, in its own size: red, green, blue and straight alpha, or opaque, in sRGB.
    ///
    /// Checks `cancellation` while it runs.
    ///
    /// - Parameters:
    ///   - index: a position in ``frames``.
    ///   - cancellation: when set from another thread, the call throws soon.
    /// - Returns: pixels of exactly the size in the frame's plan.
    /// - Throws: ``LoadError/Code/cancelled`` soon after the flag is set, and ``LoadError/Code/damaged`` if the frame's
    ///   data are corrupt.
    func pixels(ofFrame index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer
}

/// A frame's position on the canvas, its blending, its duration and its disposal.
public struct AnimationFramePlan: Sendable, Hashable {
    /// The blending of a frame's pixels with the canvas.
    public enum Blending: Sendable, Hashable {
        /// Composite them over the canvas by their alpha.
        case over
        /// Replace the canvas, with transparent pixels too.
        case replace
    }

    /// The treatment of a frame's rectangle before the next frame is drawn.
    public enum Disposal: Sendable, Hashable {
        /// Leave it as it is.
        case keep
        /// Make it transparent. The background colour of some formats is ignored, as in browsers.
        case clear
        /// Restore its contents from before the frame.
        case restore
    }

    /// The left edge of the frame's rectangle, in pixels of the canvas as stored, before orientation.
    ///
    /// Parts of the rectangle beyond the canvas are clipped.
    public var x: Int
    /// The top edge of the frame's rectangle, in pixels of the canvas as stored, before orientation.
    public var y: Int
    /// The width of the frame's rectangle in pixels.
    public var width: Int
    /// The height of the frame's rectangle in pixels.
    public var height: Int
    /// The time for which the frame is shown.
    public var duration: Duration
    /// The blending of the frame's pixels with the canvas.
    public var blending: Blending
    /// The treatment of the frame's rectangle before the next frame is drawn.
    public var disposal: Disposal
    /// Whether the frame's pixels may be transparent. If not, and the rectangle covers the canvas, the frame can
    /// usually be shown without decoding earlier ones.
    public var hasAlpha: Bool

    /// Creates a frame's plan.
    ///
    /// - Parameters:
    ///   - x: the left edge of the rectangle, in pixels of the canvas as stored.
    ///   - y: the top edge of the rectangle, in pixels of the canvas as stored.
    ///   - width: the width of the rectangle in pixels.
    ///   - height: the height of the rectangle in pixels.
    ///   - duration: the time for which the frame is shown.
    ///   - blending: the blending of the frame's pixels with the canvas.
    ///   - disposal: the treatment of the rectangle before the next frame is drawn.
    ///   - hasAlpha: whether the frame's pixels may be transparent.
    /// - Precondition: `x` and `y` are not negative, and both sides are at least 1.
    public init(
        x: Int = 0, y: Int = 0, width: Int, height: Int, duration: Duration, blending: Blending = .over,
        disposal: Disposal = .keep, hasAlpha: Bool = true
    ) {
        precondition(
            x >= 0 && y >= 0 && width > 0 && height > 0, "invalid frame: \(width) × \(height) pixels at (\(x), \(y))")
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.duration = duration
        self.blending = blending
        self.disposal = disposal
        self.hasAlpha = hasAlpha
    }

    /// Returns the part of the frame that lies on the canvas, which may be empty.
    func visible(width canvasWidth: Int, height canvasHeight: Int) -> (x: Range<Int>, y: Range<Int>) {
        // Use differences, because sums of values from the file may overflow.
        let wide = min(width, max(0, canvasWidth - x))
        let high = min(height, max(0, canvasHeight - y))
        let isEmpty = wide == 0 || high == 0
        return isEmpty ? (0..<0, 0..<0) : (x..<x + wide, y..<y + high)
    }

    func covers(width canvasWidth: Int, height canvasHeight: Int) -> Bool {
        x == 0 && y == 0 && width >= canvasWidth && height >= canvasHeight
    }
}

extension DecodeOptions {
    /// Checks a number of frames against ``maximumFrames``.
    ///
    /// Codecs call it while they count frames, so that a file with millions of frames takes no memory for them.
    ///
    /// - Parameter count: the number of frames counted so far.
    /// - Throws: ``LoadError/Code/tooManyFrames`` if `count` exceeds the limit.
    public func checkFrames(_ count: Int) throws(LoadError) {
        guard count > maximumFrames else { return }
        throw LoadError(
            .tooManyFrames, stage: .decode,
            message:
                "The animation has more than \(maximumFrames) frames, the limit. Raise maximumFrames if you trust the "
                + "source.")
    }

    /// Throws if an animation's canvas, a frame, or all frames together exceed the limits on pixels or frames.
    func check(_ source: any AnimationSource) throws(LoadError) {
        let info = source.info
        try info.checkPixels(maximum: maximumPixels)
        try checkFrames(source.frames.count)
        let canvas = info.storedWidth * info.storedHeight
        var sum = 0
        for frame in source.frames {
            var stored = info
            (stored.storedWidth, stored.storedHeight) = (frame.width, frame.height)
            try stored.checkPixels(maximum: maximumPixels)
            let (next, overflow) = sum.addingReportingOverflow(max(canvas, frame.width * frame.height))
            guard !overflow, next <= maximumAnimationPixels else {
                throw LoadError(
                    .tooManyPixels, stage: .decode,
                    message: "The animation declares \(source.frames.count) frames of \(info.storedWidth) × "
                        + "\(info.storedHeight) pixels; the limit for all frames together is \(maximumAnimationPixels) "
                        + "pixels. Raise maximumAnimationPixels if you trust the source.")
            }
            sum = next
        }
    }
}
