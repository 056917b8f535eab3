public import InflightConcurrency

/// A whole animation as its file has it: where each frame lies on the canvas, and each frame's own pixels.
///
/// What a codec gives for its format. How the frames are put together, which of them are needed for one, and the size that
/// is wanted are the engine's. Values that never change: frames are decoded on any thread, in any order, one at a time
/// for each ``AnimatedImage``.
public protocol AnimationSource: Sendable {
    /// Of the whole picture: format, size of the canvas, orientation. Its count of frames and its alpha are not looked at.
    var info: ImageInfo { get }
    /// How many times all frames are shown; `nil`: for ever.
    var loopCount: Int? { get }
    /// At least one, as many as are whole.
    var frames: [AnimationFramePlan] { get }
    /// Whether the file ends before its animation does.
    var isCutShort: Bool { get }

    /// Decodes one frame by itself, in its own size: red, green, blue and straight alpha, or opaque, in sRGB.
    ///
    /// Looks at `cancellation` while it works, and throws ``LoadError/Code/cancelled`` soon after it is set;
    /// ``LoadError/Code/damaged`` where the frame's data are broken.
    func pixels(ofFrame index: Int, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer
}

/// Where a frame lies on its animation's canvas, how it is put there, how long it stays, and what is left of it then.
public struct AnimationFramePlan: Sendable, Hashable {
    /// How a frame's pixels are put on the canvas.
    public enum Blending: Sendable, Hashable {
        /// Over what is there, by their alpha.
        case over
        /// In its place, transparent ones too.
        case replace
    }

    /// What becomes of a frame's rectangle before the next frame is put on the canvas.
    public enum Disposal: Sendable, Hashable {
        case keep
        /// It is made transparent. The background colour that some formats tell is not heeded, as in browsers.
        case clear
        /// It becomes what it was before the frame.
        case restore
    }

    /// In pixels of the canvas as it is stored, before orientation. What lies beyond the canvas is cut off.
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int
    public var duration: Duration
    public var blending: Blending
    public var disposal: Disposal
    /// Whether its pixels may be transparent.
    public var hasAlpha: Bool

    /// - Precondition: `x` and `y` are not negative, both sides are at least 1.
    public init(
        x: Int = 0, y: Int = 0, width: Int, height: Int, duration: Duration, blending: Blending = .over,
        disposal: Disposal = .keep, hasAlpha: Bool = true
    ) {
        precondition(x >= 0 && y >= 0 && width > 0 && height > 0, "a frame of \(width) × \(height) at \(x), \(y)")
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.duration = duration
        self.blending = blending
        self.disposal = disposal
        self.hasAlpha = hasAlpha
    }

    /// The part of it that lies on the canvas; empty where none does.
    func visible(width canvasWidth: Int, height canvasHeight: Int) -> (x: Range<Int>, y: Range<Int>) {
        // Differences, since sums of what a file says may overflow.
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
    /// For codecs: throws ``LoadError/Code/tooManyFrames`` where there are more frames than are allowed. Looked at while
    /// they are counted, so that a file of millions takes no memory for them.
    public func checkFrames(_ count: Int) throws(LoadError) {
        guard count > maximumFrames else { return }
        throw LoadError(
            .tooManyFrames, stage: .decode,
            message: "The animation has more than the \(maximumFrames) frames that are allowed. Raise the limit if its "
                + "source is trusted.")
    }

    /// Throws where an animation's canvas, a frame, or all frames together have more pixels than are allowed.
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
                        + "\(info.storedHeight) pixels, and at most \(maximumAnimationPixels) pixels are allowed in all "
                        + "of them together. Raise the limit if its source is trusted.")
            }
            sum = next
        }
    }
}
