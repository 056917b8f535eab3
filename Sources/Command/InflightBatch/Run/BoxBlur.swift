internal import InflightConcurrency
internal import InflightCore
internal import InflightImages

/// Blurs boxes of an image as img2dataset does: each box is widened on all sides by a tenth of its longest side, and
/// blurred with a deviation of a tenth of the longest side of all boxes. The edges between the blurred and the other
/// pixels are blurred in the same way.
struct BoxBlur {
    private static let widening = 0.1
    private static let share = 0.1
    /// The largest deviation that the engine's blur takes.
    private static let maximumDeviation = 1000.0
    /// The number of bytes for each pixel that the blur takes beside the image.
    static let bytesPerPixel = 20

    /// The boxes in the image as displayed.
    let boxes: [BlurBox]

    /// Returns the image with blurred boxes, in the same format.
    func callAsFunction(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let (width, height) = (pixels.width, pixels.height)
        var longest = 0
        var rectangles: [(columns: Range<Int>, rows: Range<Int>)] = []
        for box in boxes {
            let (x, y) = (Self.pixels(box.left, box.right, of: width), Self.pixels(box.top, box.bottom, of: height))
            let side = max(x.count, y.count)
            longest = max(longest, side)
            rectangles.append((Self.widened(x, by: side, in: width), Self.widened(y, by: side, in: height)))
        }
        let blur = ImageProcessor.blur(radius: min(Double(longest) * Self.share, Self.maximumDeviation))
        let mask = try blur.process(Self.mask(width, height, rectangles), cancellation: cancellation)
        // Colours of transparent pixels do not count.
        let format = pixels.format
        let mixable = PixelBuffer.Format(
            order: format.order, alpha: format.alpha == .straight ? .premultiplied : format.alpha)
        let sharp = pixels.converted(to: mixable)
        let blurred = try blur.process(sharp, cancellation: cancellation)
        return Self.mixed(sharp, blurred, mask).converted(to: format)
    }

    /// Returns the pixels between two shares of a side, not clipped to the image.
    private static func pixels(_ start: Double, _ end: Double, of side: Int) -> Range<Int> {
        func pixel(_ share: Double) -> Int { Int(max(-1, min(2, share)) * Double(side)) }
        return pixel(start)..<pixel(end)
    }

    private static func widened(_ range: Range<Int>, by side: Int, in size: Int) -> Range<Int> {
        let margin = widening * Double(side)
        return (Int(Double(range.lowerBound) - margin)..<Int(Double(range.upperBound) + margin)).clamped(to: 0..<size)
    }

    /// Returns an image that is white in some rectangles, and black elsewhere.
    private static func mask(
        _ width: Int, _ height: Int, _ rectangles: [(columns: Range<Int>, rows: Range<Int>)]
    ) -> PixelBuffer {
        unsafe PixelBuffer(width: width, height: height, format: .rgbx) { memory in
            unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
            for (columns, rows) in rectangles where !columns.isEmpty {
                for row in rows {
                    let start = (row * width + columns.lowerBound) * 4
                    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[start..<(start + columns.count * 4)])
                        .initializeMemory(as: UInt8.self, repeating: 255)
                }
            }
        }
    }

    /// Returns `first` where the mask is black, `second` where it is white, and a mixture in between.
    private static func mixed(_ first: PixelBuffer, _ second: PixelBuffer, _ mask: PixelBuffer) -> PixelBuffer {
        let width = first.width
        return unsafe PixelBuffer(width: width, height: first.height, format: first.format) { memory in
            unsafe first.withUnsafeBytes { sharp in
                unsafe second.withUnsafeBytes { blurred in
                    unsafe mask.withUnsafeBytes { mask in
                        for y in 0..<first.height {
                            let (a, b) = (y &* first.bytesPerRow, y &* second.bytesPerRow)
                            for offset in 0..<(width &* 4) {
                                let share = unsafe Int(mask[(y &* width &+ offset / 4) &* 4])
                                let sum =
                                    unsafe Int(sharp[a &+ offset]) &* (255 &- share)
                                    &+ Int(blurred[b &+ offset]) &* share
                                unsafe memory[y &* width &* 4 &+ offset] = UInt8((sum &+ 127) / 255)
                            }
                        }
                    }
                }
            }
        }
    }
}
