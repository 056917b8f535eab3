public import InflightConcurrency

/// Composites another image over the image, at a place and with an opacity.
struct OverlayStep: ImageProcessing {
    let name: String
    let top: PixelBuffer
    let gravity: Resize.Gravity
    let margin: Int
    let opacity: Double
    let blend: ImageProcessor.Blend
    /// The largest share of each side of the image that the overlay may take; nil if it keeps its size.
    let share: Double?

    // The size tells most images apart that were given the same name by mistake.
    var identity: String {
        let size = share.map { ", share: \($0)" } ?? ""
        return "overlay(\(name) \(top.width)x\(top.height), gravity: \(gravity.rawValue), margin: \(margin), "
            + "opacity: \(opacity), blend: \(blend.rawValue)\(size))"
    }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard (0...1).contains(opacity), (0...1_000_000).contains(margin) else {
            throw ProcessingError.invalid(
                "Invalid processor \(identity). The opacity must be 0 to 1, the margin 0 to 1000000 pixels.")
        }
        guard share.map({ $0 > 0 && $0 <= 1 }) ?? true else {
            throw ProcessingError.invalid("Invalid processor \(identity). The share must be above 0, and at most 1.")
        }
        try cancellation.checkProcessing()
        var top = top
        if let share {
            let width = max(1, Int(Double(pixels.width) * share))
            let height = max(1, Int(Double(pixels.height) * share))
            top = top.resized(by: Resize(width: width, height: height))
        }
        let corner = gravity.corner(
            freeWidth: pixels.width - top.width - 2 * margin, freeHeight: pixels.height - top.height - 2 * margin)
        return try pixels.overlaid(
            with: top, x: margin + corner.x, y: margin + corner.y, opacity: opacity, blend: blend,
            cancellation: cancellation)
    }
}

/// Composites a plain colour over the image, and keeps alpha.
struct TintStep: ImageProcessing {
    let color: PixelColor
    let blend: ImageProcessor.Blend

    var identity: String { "tint(\(color), blend: \(blend.rawValue))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let top = color.premultiplied(pixels.format.order)
        let (width, alpha, blend) = (pixels.width, pixels.format.alpha, blend)
        return try unsafe pixels.rows(to: pixels.format, cancellation: cancellation) { _, input, output in
            for offset in stride(from: 0, to: width &* 4, by: 4) {
                var back = unsafe PixelFloats.load(input + offset)
                let opacity = back[3]
                if alpha == .straight { back = PixelFloats.premultiplied(back) }
                // Keep the part of the mix that lies inside the image (Porter and Duff's source atop).
                var mix = blend.mixed(top, over: back) - top * (1 - opacity / 255)
                mix[3] = opacity
                if alpha == .straight { mix = PixelFloats.unpremultiplied(mix) }
                unsafe PixelFloats.store(mix, to: output + offset)
            }
        }
    }
}

extension PixelBuffer {
    /// Returns the image with another one composited over it. Its size and its format stay.
    ///
    /// Both are composited as premultiplied colours in sRGB as stored, as in CSS (W3C Compositing and Blending Level
    /// 1). The part of `top` outside the image is dropped. Time is linear in the pixels of both.
    ///
    /// - Parameters:
    ///   - top: the image to draw, in any format.
    ///   - x: the distance from the image's left edge to that of `top`, in pixels, which may be negative.
    ///   - y: the distance from the image's top edge to that of `top`, in pixels, which may be negative.
    ///   - opacity: the factor of the alpha of `top`, 0 … 1.
    ///   - blend: the way in which colours are combined where both images are visible.
    ///   - cancellation: when set from another thread, the call throws soon.
    /// - Throws: ``LoadError/Code/invalidRequest`` for an invalid opacity; ``LoadError/Code/cancelled`` if
    ///   `cancellation` is set.
    public func overlaid(
        with top: PixelBuffer, x: Int = 0, y: Int = 0, opacity: Double = 1, blend: ImageProcessor.Blend = .normal,
        cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> PixelBuffer {
        guard (0...1).contains(opacity) else {
            throw ProcessingError.invalid("Invalid opacity \(opacity). It must be 0 to 1.")
        }
        try cancellation.checkProcessing()
        let columns = Self.part(of: width, coveredBy: top.width, at: x)
        let rows = Self.part(of: height, coveredBy: top.height, at: y)
        if columns.isEmpty || rows.isEmpty || opacity == 0 { return self }
        let top = top.converted(to: Format(order: format.order, alpha: top.format.alpha))
        let (factor, backAlpha, topAlpha) = (Float(opacity), format.alpha, top.format.alpha)
        return try unsafe top.withUnsafeBytes { memory throws(LoadError) in
            let first = memory.baseAddress!
            return try unsafe self.rows(to: format, cancellation: cancellation) { row, input, output in
                unsafe output.copyMemory(from: input, byteCount: width &* 4)
                guard rows.contains(row) else { return }
                let line = unsafe first + (row - y) * top.bytesPerRow
                for column in columns {
                    var front = unsafe PixelFloats.load(line + (column - x) &* 4)
                    if topAlpha == .straight { front = PixelFloats.premultiplied(front) }
                    front *= factor
                    if front[3] == 0 { continue }
                    let place = unsafe output + column &* 4
                    var back = unsafe PixelFloats.load(place)
                    if backAlpha == .straight { back = PixelFloats.premultiplied(back) }
                    var mix = blend.mixed(front, over: back)
                    if backAlpha == .opaque { mix[3] = 255 }
                    if backAlpha == .straight { mix = PixelFloats.unpremultiplied(mix) }
                    unsafe PixelFloats.store(mix, to: place)
                }
            }
        }
    }

    /// Returns the part of a side of `size` pixels that one of `count` pixels covers from `start` on.
    private static func part(of size: Int, coveredBy count: Int, at start: Int) -> Range<Int> {
        let (end, overflow) = start.addingReportingOverflow(count)
        return (start..<(overflow ? Int.max : end)).clamped(to: 0..<size)
    }
}

extension ImageProcessor.Blend {
    /// Returns two premultiplied pixels composited, each component 0 … 255 (W3C Compositing and Blending Level 1,
    /// sections 5.1 and 9.1, multiplied out). Alpha follows the same formulas as the colours.
    @inline(__always)
    func mixed(_ top: SIMD4<Float>, over back: SIMD4<Float>) -> SIMD4<Float> {
        let (topAlpha, backAlpha) = (top[3], back[3])
        let below = back * (1 - topAlpha / 255)
        if self == .normal { return top + below }
        if self == .screen { return top + back - top * back / 255 }
        let alone = top * (1 - backAlpha / 255) + below
        switch self {
        case .normal, .screen, .multiply: return alone + top * back / 255
        case .darken: return alone + Self.lesser(top * backAlpha, back * topAlpha) / 255
        case .lighten: return alone + Self.greater(top * backAlpha, back * topAlpha) / 255
        case .overlay:
            var both = (topAlpha * backAlpha - 2 * (backAlpha - back) * (topAlpha - top)) / 255
            both.replace(with: 2 * top * back / 255, where: 2 * back .<= SIMD4(repeating: backAlpha))
            // The formula of colours would count the alpha twice.
            both[3] = topAlpha * backAlpha / 255
            return alone + both
        }
    }

    @inline(__always)
    private static func lesser(_ one: SIMD4<Float>, _ two: SIMD4<Float>) -> SIMD4<Float> {
        one.replacing(with: two, where: two .< one)
    }

    @inline(__always)
    private static func greater(_ one: SIMD4<Float>, _ two: SIMD4<Float>) -> SIMD4<Float> {
        one.replacing(with: two, where: two .> one)
    }
}
