import Inflight

/// An sRGB colour.
struct RGB: Hashable, Sendable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
}

/// Pixels as a terminal shows them: a colour, or none, which shows the terminal's own background.
struct TerminalPixels: Equatable, Sendable {
    let width: Int
    let height: Int
    /// The colours, row after row; `nil` for pixels that are not drawn.
    let colors: [RGB?]

    init(width: Int, height: Int, colors: [RGB?]) {
        precondition(width > 0 && height > 0 && colors.count == width * height, "a colour for each pixel")
        self.width = width
        self.height = height
        self.colors = colors
    }

    /// Converts pixels of red, green, blue and straight alpha. The terminal's background is unknown, so nothing is
    /// blended with it: a pixel that is half transparent or more is left out, and any other is drawn in its own colour.
    init(_ pixels: PixelBuffer) {
        precondition(pixels.format.order == .rgba && pixels.format.alpha != .premultiplied, "pixels of another form")
        var colors: [RGB?] = []
        colors.reserveCapacity(pixels.width * pixels.height)
        unsafe pixels.withUnsafeBytes { memory in
            for y in 0..<pixels.height {
                for x in 0..<pixels.width {
                    let offset = y * pixels.bytesPerRow + x * 4
                    let isSeen = unsafe memory[offset + 3] >= 128
                    let color = unsafe RGB(red: memory[offset], green: memory[offset + 1], blue: memory[offset + 2])
                    colors.append(isSeen ? color : nil)
                }
            }
        }
        self.init(width: pixels.width, height: pixels.height, colors: colors)
    }

    /// The colour of a pixel; also `nil` below the last row.
    subscript(x: Int, y: Int) -> RGB? {
        y < height ? colors[y * width + x] : nil
    }
}
