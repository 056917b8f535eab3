public import InflightConcurrency

/// A transform of a decoded image, as a value:
///
/// ```swift
/// request.processors = [.resize(width: 320), .blur(radius: 4)]
/// ```
///
/// Lengths are in pixels of the step's input. Steps with the same ``identity`` are equal: their jobs are coalesced and
/// their results shared. Colours are transformed as stored (sRGB, not linear light), as in CSS and common editors;
/// ``resize(width:height:fit:gravity:enlarges:light:)`` uses linear light on request.
public struct ImageProcessor: ImageProcessing, Hashable, CustomStringConvertible {
    private let processing: any ImageProcessing

    /// Creates a processor from a custom implementation.
    public init(_ processing: any ImageProcessing) {
        self.processing = processing
    }

    public var identity: String { processing.identity }
    public var description: String { identity }

    public func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try processing.process(pixels, cancellation: cancellation)
    }

    public static func == (left: ImageProcessor, right: ImageProcessor) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

extension ImageProcessor {
    /// Scales the image, and crops it if the fit requires it.
    public static func resize(_ resize: Resize) -> ImageProcessor { Self(ResizeStep(resize: resize)) }

    /// Scales the image to a width, a height, or both.
    public static func resize(
        width: Int? = nil, height: Int? = nil, fit: Resize.Fit = .contain, gravity: Resize.Gravity = .center,
        enlarges: Bool = false, light: Resize.Light = .encoded
    ) -> ImageProcessor {
        resize(Resize(width: width, height: height, fit: fit, gravity: gravity, enlarges: enlarges, light: light))
    }

    /// Crops the image to the part that begins at `x`, `y`, clipped to the image. If none of the part lies inside, the
    /// request fails with ``LoadError/Code/invalidRequest``.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> ImageProcessor {
        Self(CropStep(place: .at(x: x, y: y), width: width, height: height))
    }

    /// Crops the image to that size, or to its own if that is smaller, at the position of `gravity`.
    public static func crop(width: Int, height: Int, gravity: Resize.Gravity = .center) -> ImageProcessor {
        Self(CropStep(place: .gravity(gravity), width: width, height: height))
    }

    /// Makes the image transparent outside rounded corners with smooth edges, with an optional border along them.
    ///
    /// - Parameter radius: clamped to half the shorter side.
    public static func roundCorners(radius: Double, border: Border? = nil) -> ImageProcessor {
        Self(FrameStep(shape: .rounded(radius: radius), border: border))
    }

    /// Crops the image to the square in the middle, and makes it transparent outside a circle.
    public static func circle(border: Border? = nil) -> ImageProcessor {
        Self(FrameStep(shape: .circle, border: border))
    }

    /// Draws a line along the edges, inside the image.
    public static func border(width: Double, color: PixelColor) -> ImageProcessor {
        Self(FrameStep(shape: .rounded(radius: 0), border: Border(width: width, color: color)))
    }

    /// Applies a Gaussian blur with the standard deviation `radius`, as in CSS. The time does not depend on the radius.
    ///
    /// - Parameter radius: 0 … 1,000; 0 changes nothing.
    public static func blur(radius: Double) -> ImageProcessor { Self(BlurStep(radius: radius)) }

    /// Applies an unsharp mask: adds the difference between the image and its blur, `amount` times.
    ///
    /// - Parameters:
    ///   - amount: 0 … 10; 0 changes nothing.
    ///   - radius: the radius of the blur.
    public static func sharpen(amount: Double = 0.5, radius: Double = 1) -> ImageProcessor {
        Self(SharpenStep(amount: amount, radius: radius))
    }

    /// Removes colour and keeps luminance (ITU-R BT.709 weights).
    public static var grey: ImageProcessor { Self(GreyStep()) }

    /// Adjusts brightness, contrast and saturation, in this order, like `brightness()`, `contrast()` and `saturate()`
    /// of the W3C's Filter Effects Module Level 1. A value of 1 changes nothing; 0 yields black, a uniform grey, or no
    /// colours.
    public static func adjust(
        brightness: Double = 1, contrast: Double = 1, saturation: Double = 1
    ) -> ImageProcessor {
        let matrix = ColorMatrix.brightness(brightness).then(.contrast(contrast)).then(.saturation(saturation))
        return Self(
            ColorStep(
                name: "adjust(brightness: \(brightness), contrast: \(contrast), saturation: \(saturation))",
                matrix: matrix))
    }

    /// Rotates the image clockwise. Multiples of 90° move pixels without changing them. Any other angle enlarges the
    /// canvas to fit the rotated image, with transparent corners.
    public static func rotate(degrees: Double) -> ImageProcessor { Self(RotateStep(degrees: degrees)) }

    public enum Axis: String, Sendable, Hashable, CaseIterable {
        /// Swaps left and right.
        case horizontal
        /// Swaps top and bottom.
        case vertical
    }

    public static func flip(_ axis: Axis) -> ImageProcessor { Self(FlipStep(axis: axis)) }

    /// Composites the image over a plain colour, opaque.
    public static func flatten(on color: PixelColor = .white) -> ImageProcessor { Self(FlattenStep(color: color)) }

    /// Runs custom code on a thread of the decode lane, several calls at once. An error that it throws fails the
    /// request with ``LoadError/Code/extensionFailed``, unless it is a ``LoadError``.
    ///
    /// - Parameter name: the transform and its parameters. The same name must mean the same transform, because later
    ///   requests reuse the cached result.
    public static func custom(
        _ name: String, _ change: @escaping @Sendable (PixelBuffer) throws -> PixelBuffer
    ) -> ImageProcessor {
        Self(CustomStep(name: name, change: change))
    }

    /// A line along an edge of an image.
    public struct Border: Sendable, Hashable, CustomStringConvertible {
        /// The width in pixels, which may be fractional.
        public var width: Double
        public var color: PixelColor

        public init(width: Double, color: PixelColor) {
            self.width = width
            self.color = color
        }

        public var description: String { "\(width) \(color)" }
    }
}

extension PixelBuffer {
    /// Returns the image after all of these steps, applied in this order on the calling thread.
    public func processed(
        by processors: [ImageProcessor], cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> PixelBuffer {
        var pixels = self
        for processor in processors { pixels = try processor.process(pixels, cancellation: cancellation) }
        return pixels
    }
}
