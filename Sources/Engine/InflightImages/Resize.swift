/// A target size for an image, called its box, and how the image fits into it.
///
/// ```swift
/// request.resize = Resize(width: 320, height: 240, fit: .cover, gravity: .top)
/// ```
public struct Resize: Sendable, Hashable {
    /// The relation between an image and the box.
    public enum Fit: String, Sendable, Hashable, CaseIterable {
        /// Fits the whole image inside the box, preserving the aspect ratio. One side may be smaller than requested.
        case contain
        /// Covers the box, preserving the aspect ratio, without cropping: one side may be larger than requested. A
        /// square box gives the shortest side. With one side alone, like ``contain``.
        case outside
        /// Fits the whole image inside the box like ``contain``, and pads it to the size of the box with
        /// ``Resize/background``, with the image in the middle. With one side alone, like ``contain``.
        case pad
        /// Fills the box, preserving the aspect ratio, and crops the overflow as ``Resize/gravity`` specifies. With one
        /// side alone, like ``contain``.
        case cover
        /// Fills the box without preserving the aspect ratio. Without ``Resize/enlarges``, no axis is scaled up.
        case fill
        /// Like ``fill``, but enlarges regardless of ``Resize/enlarges``, so that the result has the box's size.
        case exact
    }

    /// The part of an image to keep when cropping.
    public enum Gravity: String, Sendable, Hashable, CaseIterable {
        /// The middle of both axes.
        case center
        /// The top, horizontally centred.
        case top
        /// The bottom, horizontally centred.
        case bottom
        /// The left side, vertically centred.
        case left
        /// The right side, vertically centred.
        case right
        /// The top left corner.
        case topLeft = "top-left"
        /// The top right corner.
        case topRight = "top-right"
        /// The bottom left corner.
        case bottomLeft = "bottom-left"
        /// The bottom right corner.
        case bottomRight = "bottom-right"
        /// The most interesting part: see ``PixelBuffer/interestingPart(width:height:)``. The whole scaled image is
        /// decoded before it is cropped, which takes its memory.
        case interest

        /// The share of the surplus pixels to the left of the kept part and above it, in halves.
        fileprivate var halves: (x: Int, y: Int) {
            switch self {
            case .center, .interest: (1, 1)
            case .top: (1, 0)
            case .bottom: (1, 2)
            case .left: (0, 1)
            case .right: (2, 1)
            case .topLeft: (0, 0)
            case .topRight: (2, 0)
            case .bottomLeft: (0, 2)
            case .bottomRight: (2, 2)
            }
        }

        func corner(freeWidth: Int, freeHeight: Int) -> (x: Int, y: Int) {
            (freeWidth * halves.x / 2, freeHeight * halves.y / 2)
        }
    }

    /// The values that are averaged when several pixels become one.
    public enum Light: String, Sendable, Hashable, CaseIterable {
        /// Averages samples as stored, as browsers and most programs do. Fine dark and light detail becomes darker than
        /// it looks from afar.
        case encoded
        /// Averages the light that sRGB samples encode: a fine black and white chequer becomes the grey it looks like,
        /// 188 and not 128. It is slower, and JPEG and WebP are not decoded at reduced size.
        case linear
    }

    /// The width of the box in pixels, 1 … 1,000,000. If nil, it follows from ``height`` and the image's aspect ratio.
    ///
    /// If both sides are nil, the image keeps its size. Requests and processors fail with
    /// ``LoadError/Code/invalidRequest`` if a side is out of range. One beyond 32 bits becomes the nearest that fits.
    public var width: Int? {
        get { Self.side(storedWidth) }
        set { storedWidth = Self.stored(newValue) }
    }
    /// The height of the box in pixels, 1 … 1,000,000. If nil, it follows from ``width`` and the image's aspect ratio.
    public var height: Int? {
        get { Self.side(storedHeight) }
        set { storedHeight = Self.stored(newValue) }
    }
    // In a quarter of the memory, because each of a million queued requests has two target sizes: its own and its
    // key's. A side that does not fit is out of range anyway.
    private var storedWidth = none
    private var storedHeight = none

    private static let none = Int32.min

    private static func stored(_ side: Int?) -> Int32 {
        side.map { Int32(clamping: max($0, Int(none) + 1)) } ?? none
    }

    private static func side(_ stored: Int32) -> Int? { stored == none ? nil : Int(stored) }

    /// The relation between the image and the box.
    public var fit: Fit
    /// The part to keep when ``Fit/cover`` crops.
    public var gravity: Gravity
    /// Whether to upscale an image smaller than the box. ``Fit/exact`` does so regardless.
    public var enlarges: Bool
    /// The values that are averaged when the image is scaled.
    public var light: Light
    /// Whether an image that is not larger than the box keeps its size, without being enlarged, cropped or padded.
    ///
    /// For ``Fit/cover`` and ``Fit/outside`` an image is larger if both of its sides are, for any other fit if one is.
    public var keepsSmaller: Bool
    /// The colour with which ``Fit/pad`` pads.
    public var background: PixelColor

    /// Creates a target size in pixels.
    ///
    /// - Parameters:
    ///   - width: the width of the box. If nil, it follows from `height`.
    ///   - height: the height of the box. If nil, it follows from `width`.
    ///   - fit: the relation between the image and the box.
    ///   - gravity: the part to keep if `fit` crops.
    ///   - enlarges: whether to upscale an image smaller than the box.
    ///   - light: the values that are averaged.
    ///   - keepsSmaller: whether an image that is not larger than the box keeps its size.
    ///   - background: the colour with which ``Fit/pad`` pads.
    public init(
        width: Int? = nil, height: Int? = nil, fit: Fit = .contain, gravity: Gravity = .center, enlarges: Bool = false,
        light: Light = .encoded, keepsSmaller: Bool = false, background: PixelColor = .white
    ) {
        self.fit = fit
        self.gravity = gravity
        self.enlarges = enlarges
        self.light = light
        self.keepsSmaller = keepsSmaller
        self.background = background
        self.width = width
        self.height = height
    }

    /// Returns a target size from points, as on a high-density screen, each side rounded to the nearest pixel.
    ///
    /// - Parameters:
    ///   - width: the width of the box in points. If nil, it follows from `height`.
    ///   - height: the height of the box in points. If nil, it follows from `width`.
    ///   - scale: the number of pixels per point.
    ///   - fit: the relation between the image and the box.
    ///   - gravity: the part to keep if `fit` crops.
    ///   - enlarges: whether to upscale an image smaller than the box.
    ///   - light: the values that are averaged.
    public static func points(
        width: Double? = nil, height: Double? = nil, scale: Double, fit: Fit = .contain, gravity: Gravity = .center,
        enlarges: Bool = false, light: Light = .encoded
    ) -> Resize {
        // An invalid size becomes one that requests reject.
        func pixels(_ points: Double) -> Int { Int(max(0, min((points * scale).rounded(), 1e9))) }
        return Resize(
            width: width.map(pixels), height: height.map(pixels), fit: fit, gravity: gravity, enlarges: enlarges,
            light: light)
    }

    /// A requested side outside the valid range; `nil` if there is none.
    package var impossibleSide: Int? { [width, height].compactMap(\.self).first { !(1...1_000_000).contains($0) } }

    /// Every property that affects the result, as text.
    package var identity: String {
        let sides = [width, height].map { $0.map(String.init) ?? "" }.joined(separator: "x")
        return "\(sides) \(fit.rawValue) \(enlarges)" + (gravity == .center ? "" : " \(gravity.rawValue)")
            + (light == .encoded ? "" : " \(light.rawValue)") + (keepsSmaller ? " keeps-smaller" : "")
            + (fit == .pad ? " \(background)" : "")
    }

    /// The steps for an image of known size: scale all of it to `scaledWidth` × `scaledHeight`, then keep `width` ×
    /// `height` of that from `cropX`, `cropY`.
    public struct Plan: Sendable, Hashable {
        /// The width of the whole scaled image in pixels.
        public var scaledWidth: Int
        /// The height of the whole scaled image in pixels.
        public var scaledHeight: Int
        /// The left edge of the kept part, in pixels of the scaled image.
        public var cropX: Int
        /// The top edge of the kept part, in pixels of the scaled image.
        public var cropY: Int
        /// The width of the kept part, which is the result, in pixels.
        public var width: Int
        /// The height of the kept part, which is the result, in pixels.
        public var height: Int
        /// The values that are averaged when the image is scaled.
        public var light: Light

        /// Creates a plan. The kept part must lie inside the scaled image, which ``PixelBuffer/resized(to:)`` checks.
        public init(
            scaledWidth: Int, scaledHeight: Int, cropX: Int = 0, cropY: Int = 0, width: Int, height: Int,
            light: Light = .encoded
        ) {
            self.scaledWidth = scaledWidth
            self.scaledHeight = scaledHeight
            self.cropX = cropX
            self.cropY = cropY
            self.width = width
            self.height = height
            self.light = light
        }

        /// Whether the plan keeps only a part of the scaled image.
        public var crops: Bool { width != scaledWidth || height != scaledHeight }
    }

    /// Returns the plan for an image of `sourceWidth` × `sourceHeight` pixels as displayed (orientation applied).
    ///
    /// Sizes are rounded to the nearest pixel and are at least 1. Unless ``enlarges`` is set, nothing is scaled up,
    /// except by ``Fit/exact``: ``Fit/contain`` keeps the image's own size; ``Fit/cover`` and ``Fit/fill`` shrink the
    /// box, and ``Fit/cover`` keeps the box's aspect ratio. For ``Gravity/interest``, the plan crops in the middle,
    /// because the position depends on the pixels. For ``Fit/pad``, the plan is that of the image inside the box.
    public func plan(sourceWidth: Int, sourceHeight: Int) -> Plan {
        var plan = sizes(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
        plan.light = light
        return plan
    }

    private func sizes(sourceWidth: Int, sourceHeight: Int) -> Plan {
        let source = (width: Double(max(1, sourceWidth)), height: Double(max(1, sourceHeight)))
        if keeps(sourceWidth, sourceHeight) { return Self.whole(source.width, source.height) }
        let horizontal = width.map { Double($0) / source.width }
        let vertical = height.map { Double($0) / source.height }
        switch fit {
        case .contain, .pad:
            var scale = min(horizontal ?? .infinity, vertical ?? .infinity)
            if !scale.isFinite { scale = 1 }
            if !enlarges { scale = min(scale, 1) }
            return Self.whole(source.width * scale, source.height * scale)
        case .outside:
            var scale = max(horizontal ?? 0, vertical ?? 0)
            if scale == 0 { scale = 1 }
            if !enlarges { scale = min(scale, 1) }
            // Halves become even, so that shortest sides give the sizes of img2dataset.
            return Self.whole(source.width * scale, source.height * scale, .toNearestOrEven)
        case .fill, .exact:
            var x = horizontal ?? vertical ?? 1
            var y = vertical ?? horizontal ?? 1
            if !enlarges, fit == .fill {
                x = min(x, 1)
                y = min(y, 1)
            }
            return Self.whole(source.width * x, source.height * y)
        case .cover:
            guard let horizontal, let vertical, let boxWidth = width, let boxHeight = height else {
                return Resize(width: width, height: height, fit: .contain, enlarges: enlarges)
                    .sizes(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
            }
            let scale = max(horizontal, vertical)
            // If the image cannot fill the box, the box shrinks, keeping its aspect ratio, until it can.
            let shrink = enlarges ? 1 : 1 / max(scale, 1)
            let box = Self.whole(Double(boxWidth) * shrink, Double(boxHeight) * shrink)
            let applied = scale * shrink
            let scaled = Self.whole(source.width * applied, source.height * applied)
            let scaledWidth = max(scaled.width, box.width)
            let scaledHeight = max(scaled.height, box.height)
            let corner = gravity.corner(freeWidth: scaledWidth - box.width, freeHeight: scaledHeight - box.height)
            return Plan(
                scaledWidth: scaledWidth, scaledHeight: scaledHeight, cropX: corner.x, cropY: corner.y,
                width: box.width, height: box.height)
        }
    }

    /// Whether an image keeps its size because it is not larger than the box.
    private func keeps(_ sourceWidth: Int, _ sourceHeight: Int) -> Bool {
        guard keepsSmaller else { return false }
        let larger = [width.map { sourceWidth > $0 }, height.map { sourceHeight > $0 }].compactMap(\.self)
        return fit == .cover || fit == .outside ? larger.contains(false) : !larger.contains(true)
    }

    /// What remains to be done with the pixels of a plan.
    package enum Finish: Hashable, Sendable {
        case nothing
        /// Crop to this size, at a position that depends on the pixels.
        case crop(width: Int, height: Int)
        /// Pad to this size.
        case pad(width: Int, height: Int)
    }

    /// Returns the plan that a decode can follow, and what remains to be done with its pixels.
    package func stages(sourceWidth: Int, sourceHeight: Int) -> (plan: Plan, finish: Finish) {
        let plan = plan(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
        if fit == .pad, let width, let height, !keeps(sourceWidth, sourceHeight) {
            let finish = Finish.pad(width: width, height: height)
            return (plan, plan.width == width && plan.height == height ? .nothing : finish)
        }
        guard gravity == .interest, plan.crops else { return (plan, .nothing) }
        let whole = Plan(
            scaledWidth: plan.scaledWidth, scaledHeight: plan.scaledHeight, width: plan.scaledWidth,
            height: plan.scaledHeight, light: light)
        return (whole, .crop(width: plan.width, height: plan.height))
    }

    /// Returns the resize that scales like this one, and neither crops nor pads.
    package func whole(sourceWidth: Int, sourceHeight: Int) -> Resize {
        let plan = plan(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
        return Resize(width: plan.scaledWidth, height: plan.scaledHeight, fit: .exact, light: light)
    }

    /// Returns the size of the result in pixels.
    package func resultSize(sourceWidth: Int, sourceHeight: Int) -> (width: Int, height: Int) {
        let (plan, finish) = stages(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
        switch finish {
        case .nothing: return (plan.width, plan.height)
        case .crop(let width, let height), .pad(let width, let height): return (width, height)
        }
    }

    private static func whole(
        _ width: Double, _ height: Double, _ rule: FloatingPointRoundingRule = .toNearestOrAwayFromZero
    ) -> Plan {
        let wide = max(1, Int(min(width.rounded(rule), 1e9)))
        let high = max(1, Int(min(height.rounded(rule), 1e9)))
        return Plan(scaledWidth: wide, scaledHeight: high, width: wide, height: high)
    }
}
