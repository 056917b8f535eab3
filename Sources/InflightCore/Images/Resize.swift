/// The size that is wanted of a picture, and how it is fitted into it.
public struct Resize: Sendable, Hashable {
    public enum Fit: String, Sendable, Hashable, CaseIterable {
        /// The whole picture, inside the box: one side may be smaller than wanted.
        case contain
        /// The box filled, what stands out is cropped at the centre.
        case cover
        /// The box filled, the picture's shape given up.
        case fill
    }

    /// In pixels, at least 1; `nil`: whatever the other side and the picture's shape give.
    public var width: Int?
    public var height: Int?
    public var fit: Fit
    /// Whether a picture smaller than the box is made larger.
    public var enlarges: Bool

    public init(width: Int? = nil, height: Int? = nil, fit: Fit = .contain, enlarges: Bool = false) {
        self.width = width
        self.height = height
        self.fit = fit
        self.enlarges = enlarges
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

        public init(scaledWidth: Int, scaledHeight: Int, cropX: Int = 0, cropY: Int = 0, width: Int, height: Int) {
            self.scaledWidth = scaledWidth
            self.scaledHeight = scaledHeight
            self.cropX = cropX
            self.cropY = cropY
            self.width = width
            self.height = height
        }

        public var crops: Bool { width != scaledWidth || height != scaledHeight }
    }

    /// The plan for a picture of `sourceWidth` × `sourceHeight` pixels, as it is seen (orientation applied).
    ///
    /// Sizes are rounded to the nearest pixel and are at least 1. Without `enlarges` nothing is scaled up: `contain`
    /// keeps the picture's own size; `cover` and `fill` shrink the box, `cover` keeping the box's shape.
    public func plan(sourceWidth: Int, sourceHeight: Int) -> Plan {
        let source = (width: Double(max(1, sourceWidth)), height: Double(max(1, sourceHeight)))
        let horizontal = width.map { Double($0) / source.width }
        let vertical = height.map { Double($0) / source.height }
        switch fit {
        case .contain:
            var scale = min(horizontal ?? .infinity, vertical ?? .infinity)
            if !scale.isFinite { scale = 1 }
            if !enlarges { scale = min(scale, 1) }
            return Self.whole(source.width * scale, source.height * scale)
        case .fill:
            var x = horizontal ?? vertical ?? 1
            var y = vertical ?? horizontal ?? 1
            if !enlarges {
                x = min(x, 1)
                y = min(y, 1)
            }
            return Self.whole(source.width * x, source.height * y)
        case .cover:
            guard let horizontal, let vertical, let boxWidth = width, let boxHeight = height else {
                return Resize(width: width, height: height, fit: .contain, enlarges: enlarges)
                    .plan(sourceWidth: sourceWidth, sourceHeight: sourceHeight)
            }
            let scale = max(horizontal, vertical)
            // A box that the picture cannot fill shrinks, in its own shape, until it does.
            let shrink = enlarges ? 1 : 1 / max(scale, 1)
            let box = Self.whole(Double(boxWidth) * shrink, Double(boxHeight) * shrink)
            let applied = scale * shrink
            let scaled = Self.whole(source.width * applied, source.height * applied)
            let scaledWidth = max(scaled.width, box.width)
            let scaledHeight = max(scaled.height, box.height)
            return Plan(
                scaledWidth: scaledWidth, scaledHeight: scaledHeight, cropX: (scaledWidth - box.width) / 2,
                cropY: (scaledHeight - box.height) / 2, width: box.width, height: box.height)
        }
    }

    private static func whole(_ width: Double, _ height: Double) -> Plan {
        let wide = max(1, Int(min(width.rounded(), 1e9)))
        let high = max(1, Int(min(height.rounded(), 1e9)))
        return Plan(scaledWidth: wide, scaledHeight: high, width: wide, height: high)
    }
}
