import InflightConcurrency

/// Clips the image to a rounded outline, with a border along it.
struct RoundedMaskStep: ImageProcessing {
    enum Shape: Sendable {
        case rounded(radius: Double)
        case circle
    }

    let shape: Shape
    let border: ImageProcessor.Border?

    var identity: String {
        let line = border.map { "border: \($0)" } ?? ""
        switch shape {
        case .circle: return "circle(\(line))"
        case .rounded(let radius): return "rounded(radius: \(radius)\(border == nil ? "" : ", ")\(line))"
        }
    }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try cancellation.checkProcessing()
        var pixels = pixels
        var radius = 0.0
        switch shape {
        case .circle:
            let side = min(pixels.width, pixels.height)
            pixels = pixels.cropped(width: side, height: side, gravity: .center)
            radius = Double(side) / 2
        case .rounded(let wanted):
            radius = min(wanted, Double(min(pixels.width, pixels.height)) / 2)
        }
        let line = border?.width ?? 0
        guard radius >= 0, line >= 0, line.isFinite else {
            throw ProcessingError.invalid("Invalid processor \(identity). Lengths must be at least 0.")
        }
        if radius == 0, line == 0 { return pixels }
        return try RoundedMask(pixels, radius: radius, border: border).run(cancellation)
    }
}

/// The coverage of edge pixels by a rounded rectangle, and by a smaller one inside it.
private struct RoundedMask {
    let pixels: PixelBuffer
    let radius: Float
    let line: Float
    let color: SIMD4<Float>
    private let halfWidth: Float
    private let halfHeight: Float

    init(_ pixels: PixelBuffer, radius: Double, border: ImageProcessor.Border?) {
        self.pixels = pixels
        self.radius = Float(radius)
        halfWidth = Float(pixels.width) / 2
        halfHeight = Float(pixels.height) / 2
        line = Float(min(border?.width ?? 0, Double(max(pixels.width, pixels.height))))
        color = border?.color.premultiplied(pixels.format.order) ?? .zero
    }

    func run(_ cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        var format = pixels.format
        if format.alpha == .opaque, radius > 0 { format.alpha = .straight }
        let source = pixels.format.alpha
        let result = format.alpha
        let width = pixels.width
        return try unsafe pixels.rows(to: format, cancellation: cancellation) { y, input, output in
            let dy = abs(Float(y) + 0.5 - halfHeight)
            // Split the row from both edges into pixels outside, pixels that an edge crosses, and unchanged pixels.
            // Rounding assigns doubtful pixels to the crossed ones.
            let outside = max(0, Int(halfWidth - 0.5 - (reach(dy, inset: 0, beyond: 0.5) ?? 0)))
            let inside = reach(dy, inset: line, beyond: -0.5).map { Int(max(0, halfWidth + 1.5 - $0)) }
            let left = max(outside, min(inside ?? width, (width + 1) / 2))
            let right = max(left, width - left)
            let end = max(outside, width - outside)
            unsafe output.initializeMemory(as: UInt8.self, repeating: 0, count: outside &* 4)
            unsafe (output + outside &* 4).copyMemory(from: input + outside &* 4, byteCount: (end - outside) &* 4)
            unsafe (output + end &* 4).initializeMemory(as: UInt8.self, repeating: 0, count: (width - end) &* 4)
            for x in outside..<left { unsafe change(x, y, input, output, source, result) }
            for x in right..<max(right, end) { unsafe change(x, y, input, output, source, result) }
        }
    }

    /// Returns the distance from the middle up to which a row is at most `beyond` outside the edge; `nil` if nowhere.
    private func reach(_ dy: Float, inset: Float, beyond: Float) -> Float? {
        let radius = max(0, self.radius - inset)
        let outY = dy - (halfHeight - inset - radius)
        guard outY <= radius + beyond else { return nil }
        let across = outY > 0 ? ((radius + beyond) * (radius + beyond) - outY * outY).squareRoot() : radius + beyond
        return halfWidth - inset - radius + across
    }

    @inline(__always)
    private func change(
        _ x: Int, _ y: Int, _ input: UnsafeRawPointer, _ output: UnsafeMutableRawPointer,
        _ source: PixelBuffer.Format.Alpha, _ result: PixelBuffer.Format.Alpha
    ) {
        let dx = abs(Float(x) + 0.5 - halfWidth)
        let dy = abs(Float(y) + 0.5 - halfHeight)
        let outer = coverage(dx, dy, inset: 0)
        let inner = line > 0 ? coverage(dx, dy, inset: line) : outer
        if outer == 1, inner == 1 { return }
        var pixel = unsafe PixelFloats.load(input + x &* 4)
        if source == .straight { pixel = PixelFloats.premultiplied(pixel) }
        // Draw the border over the image, then apply the outline.
        let covered = line > 0 ? 1 - inner : 0
        let line = color * covered
        let rest = 1 - line[3] * (1 / 255)
        pixel = (line + pixel * rest) * outer
        if result == .straight { pixel = PixelFloats.unpremultiplied(pixel) }
        unsafe PixelFloats.store(pixel, to: output + x &* 4)
    }

    /// Returns the share of a pixel inside the outline, from the distance of its centre to the edge.
    @inline(__always)
    private func coverage(_ dx: Float, _ dy: Float, inset: Float) -> Float {
        let radius = max(0, self.radius - inset)
        let outX = dx - (halfWidth - inset - radius)
        let outY = dy - (halfHeight - inset - radius)
        let beyondX = max(outX, 0)
        let beyondY = max(outY, 0)
        let distance: Float
        if beyondX > 0, beyondY > 0 {
            distance = (beyondX * beyondX + beyondY * beyondY).squareRoot() - radius
        } else {
            distance = max(outX, outY) - radius
        }
        return min(max(0.5 - distance, 0), 1)
    }
}
