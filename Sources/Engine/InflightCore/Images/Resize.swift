/// The size that is wanted of a picture, and how it is fitted into it.
public struct Resize: Sendable, Hashable {
    public enum Fit: String, Sendable, Hashable, CaseIterable {
        /// The whole picture, inside the box: one side may be smaller than wanted.
        case contain
        /// The box filled, what stands out is cropped: where, says the ``Resize/gravity``.
        case cover
        /// The box filled, the picture's shape given up.
        case fill
        /// As ``fill``, and enlarged if need be, whether ``Resize/enlarges`` or not: the result has the box's size.
        case exact
    }

    /// Which part of a picture is kept where not all of it can be.
    public enum Gravity: String, Sendable, Hashable, CaseIterable {
        case center
        case top
        case bottom
        case left
        case right
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"
        /// What people look at: see ``PixelBuffer/interestingPart(width:height:)``. All of the scaled picture is made
        /// before it is cropped, which takes its memory.
        case interest

        /// What of the pixels that are left over lies to the left of the part that is kept, and above it; in halves.
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

    /// What is added up where pixels are made of several.
    public enum Light: String, Sendable, Hashable, CaseIterable {
        /// Samples as they are stored, as browsers and most programs do. Fine dark and light detail becomes darker than
        /// it is seen from afar.
        case encoded
        /// The light that samples of sRGB stand for: black and white in a fine chequer become the grey that it is seen
        /// as, 188 and not 128. It takes longer, and JPEG's and WebP's short ways to small pictures are not taken.
        case linear
    }

    /// In pixels, at least 1; `nil`: whatever the other side and the picture's shape give.
    public var width: Int?
    public var height: Int?
    public var fit: Fit
    /// What is kept where ``Fit/cover`` crops.
    public var gravity: Gravity
    /// Whether a picture smaller than the box is made larger.
    public var enlarges: Bool
    public var light: Light

    public init(
        width: Int? = nil, height: Int? = nil, fit: Fit = .contain, gravity: Gravity = .center, enlarges: Bool = false,
        light: Light = .encoded
    ) {
        self.width = width
        self.height = height
        self.fit = fit
        self.gravity = gravity
        self.enlarges = enlarges
        self.light = light
    }

    /// A size in points, of which each is `scale` pixels wide, as on a screen of high density. Rounded to pixels.
    public static func points(
        width: Double? = nil, height: Double? = nil, scale: Double, fit: Fit = .contain, gravity: Gravity = .center,
        enlarges: Bool = false, light: Light = .encoded
    ) -> Resize {
        // What is no size at all becomes none that a load accepts.
        func pixels(_ points: Double) -> Int { Int(max(0, min((points * scale).rounded(), 1e9))) }
        return Resize(
            width: width.map(pixels), height: height.map(pixels), fit: fit, gravity: gravity, enlarges: enlarges,
            light: light)
    }

    /// A side that no picture can have; `nil`: both are possible.
    var impossibleSide: Int? { [width, height].compactMap(\.self).first { !(1...1_000_000).contains($0) } }

    /// Everything that makes the result another.
    package var identity: String {
        let sides = [width, height].map { $0.map(String.init) ?? "" }.joined(separator: "x")
        return "\(sides) \(fit.rawValue) \(enlarges)" + (gravity == .center ? "" : " \(gravity.rawValue)")
            + (light == .encoded ? "" : " \(light.rawValue)")
    }

    /// What has to be done to a picture of a known size: scale all of it to `scaledWidth` × `scaledHeight`, then keep
    /// `width` × `height` of that from `cropX`, `cropY`.
    public struct Plan: Sendable, Hashable {
        public var scaledWidth: Int
        public var scaledHeight: Int
        public var cropX: Int
        public var cropY: Int
        public var width: Int
        public var height: Int
        public var light: Light

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

        public var crops: Bool { width != scaledWidth || height != scaledHeight }
    }

    /// The plan for a picture of `sourceWidth` × `sourceHeight` pixels, as it is seen (orientation applied).
    ///
    /// Sizes are rounded to the nearest pixel and are at least 1. Without `enlarges` nothing is scaled up: `contain`
    /// keeps the picture's own size; `cover` and `fill` shrink the box, `cover` keeping the box's shape.
    public func plan(sourceWidth: Int, sourceHeight: Int) -> Plan {
        var plan = sizes(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
        plan.light = light
        return plan
    }

    private func sizes(sourceWidth: Int, sourceHeight: Int) -> Plan {
        let source = (width: Double(max(1, sourceWidth)), height: Double(max(1, sourceHeight)))
        let horizontal = width.map { Double($0) / source.width }
        let vertical = height.map { Double($0) / source.height }
        switch fit {
        case .contain:
            var scale = min(horizontal ?? .infinity, vertical ?? .infinity)
            if !scale.isFinite { scale = 1 }
            if !enlarges { scale = min(scale, 1) }
            return Self.whole(source.width * scale, source.height * scale)
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
            // A box that the picture cannot fill shrinks, in its own shape, until it does.
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

    /// The plan, and what has to be done before the picture itself says where it is cropped: the same, but where
    /// ``Gravity/interest`` does, and then without the crop.
    package func plans(sourceWidth: Int, sourceHeight: Int) -> (plan: Plan, first: Plan) {
        let plan = plan(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
        guard gravity == .interest, plan.crops else { return (plan, plan) }
        let whole = Plan(
            scaledWidth: plan.scaledWidth, scaledHeight: plan.scaledHeight, width: plan.scaledWidth,
            height: plan.scaledHeight, light: light)
        return (plan, whole)
    }

    private static func whole(_ width: Double, _ height: Double) -> Plan {
        let wide = max(1, Int(min(width.rounded(), 1e9)))
        let high = max(1, Int(min(height.rounded(), 1e9)))
        return Plan(scaledWidth: wide, scaledHeight: high, width: wide, height: high)
    }
}
