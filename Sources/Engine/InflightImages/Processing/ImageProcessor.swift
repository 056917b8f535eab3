public import InflightConcurrency

/// A transform of a decoded image, as a value:
///
/// ```swift
/// request.processors = [.resize(width: 320), .blur(radius: 4)]
/// ```
///
/// Where a call takes any ``ImageProcessing``, as initializers of a request do, a list may mix these with other
/// processors: `[.blur(radius: 2), MyProcessor()]`. In a list of this type, others are wrapped:
/// `ImageProcessor(MyProcessor())`.
///
/// Lengths are in pixels of the step's input. Invalid parameters fail with ``LoadError/Code/invalidRequest``, not when
/// the processor is created but when it runs. Steps with the same ``identity`` are equal: their jobs are coalesced and
/// their results shared. Colours are transformed as stored (sRGB, not linear light), as in CSS and common editors;
/// ``ImageProcessing/resize(width:height:fit:gravity:enlarges:light:)`` uses linear light on request.
public struct ImageProcessor: ImageProcessing, Hashable, CustomStringConvertible {
    private let processing: any ImageProcessing

    /// Creates a processor from a custom implementation, with its identity.
    public init(_ processing: any ImageProcessing) {
        self.processing = (processing as? ImageProcessor)?.processing ?? processing
    }

    public var identity: String { processing.identity }
    public var description: String { identity }

    public func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        try processing.process(pixels, cancellation: cancellation)
    }

    public static func == (left: ImageProcessor, right: ImageProcessor) -> Bool { left.identity == right.identity }
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

// On the protocol, so that a list of any processors takes them by a leading dot: `[.blur(radius: 2), MyProcessor()]`.
extension ImageProcessing where Self == ImageProcessor {
    /// Returns a processor that scales the image, and crops it if the fit requires it.
    ///
    /// More than 100 million pixels fail with ``LoadError/Code/tooManyPixels``, unless the image already has as many.
    public static func resize(_ resize: Resize) -> ImageProcessor { ImageProcessor(ResizeStep(resize: resize)) }

    /// Returns a processor that scales the image to a width, a height, or both, as ``Resize`` describes.
    ///
    /// - Parameters:
    ///   - width: the width in pixels; if nil, it follows from `height` and the aspect ratio.
    ///   - height: the height in pixels; if nil, it follows from `width` and the aspect ratio.
    ///   - fit: the relation between the image and the size.
    ///   - gravity: the part to keep if `fit` crops.
    ///   - enlarges: whether to upscale a smaller image.
    ///   - light: the values that are averaged.
    public static func resize(
        width: Int? = nil, height: Int? = nil, fit: Resize.Fit = .contain, gravity: Resize.Gravity = .center,
        enlarges: Bool = false, light: Resize.Light = .encoded
    ) -> ImageProcessor {
        resize(Resize(width: width, height: height, fit: fit, gravity: gravity, enlarges: enlarges, light: light))
    }

    /// Returns a processor that crops the image to the part that begins at `x`, `y`, clipped to the image.
    ///
    /// If none of the part lies inside, the request fails with ``LoadError/Code/invalidRequest``.
    ///
    /// - Parameters:
    ///   - x: the left edge in pixels; negative values lie outside.
    ///   - y: the top edge in pixels; negative values lie outside.
    ///   - width: the width in pixels, at least 1.
    ///   - height: the height in pixels, at least 1.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> ImageProcessor {
        ImageProcessor(CropStep(place: .at(x: x, y: y), width: width, height: height))
    }

    /// Returns a processor that crops the image to a size at the position of `gravity`.
    ///
    /// - Parameters:
    ///   - width: the width in pixels, at least 1. A narrower image keeps its width.
    ///   - height: the height in pixels, at least 1. A lower image keeps its height.
    ///   - gravity: the part to keep.
    public static func crop(width: Int, height: Int, gravity: Resize.Gravity = .center) -> ImageProcessor {
        ImageProcessor(CropStep(place: .gravity(gravity), width: width, height: height))
    }

    /// Returns a processor that makes the image transparent outside rounded corners with smooth edges.
    ///
    /// - Parameters:
    ///   - radius: the radius in pixels, at least 0, clamped to half the shorter side.
    ///   - border: the line to draw along the edges, inside the image; if nil, there is none.
    public static func roundCorners(radius: Double, border: ImageProcessor.Border? = nil) -> ImageProcessor {
        ImageProcessor(RoundedMaskStep(shape: .rounded(radius: radius), border: border))
    }

    /// Returns a processor that crops the image to the square in the middle, and makes it transparent outside a circle.
    ///
    /// - Parameter border: the line to draw along the circle, inside it; if nil, there is none.
    public static func circle(border: ImageProcessor.Border? = nil) -> ImageProcessor {
        ImageProcessor(RoundedMaskStep(shape: .circle, border: border))
    }

    /// Returns a processor that draws a line along the edges, inside the image, whose size does not change.
    ///
    /// - Parameters:
    ///   - width: the width of the line in pixels, at least 0, which may be fractional.
    ///   - color: the colour of the line, composited over the image by its alpha.
    public static func border(width: Double, color: PixelColor) -> ImageProcessor {
        ImageProcessor(
            RoundedMaskStep(shape: .rounded(radius: 0), border: ImageProcessor.Border(width: width, color: color)))
    }

    /// Returns a processor that applies a Gaussian blur, as in CSS. The time does not depend on the radius.
    ///
    /// - Parameter radius: the standard deviation in pixels, 0 … 1,000; 0 changes nothing.
    public static func blur(radius: Double) -> ImageProcessor { ImageProcessor(BlurStep(radius: radius)) }

    /// Returns a processor that applies an unsharp mask: adds the difference between the image and its blur, `amount`
    /// times.
    ///
    /// - Parameters:
    ///   - amount: the factor of the difference, 0 … 10; 0 changes nothing.
    ///   - radius: the standard deviation of the blur in pixels, 0 … 1,000; 0 changes nothing.
    public static func sharpen(amount: Double = 0.5, radius: Double = 1) -> ImageProcessor {
        ImageProcessor(SharpenStep(amount: amount, radius: radius))
    }

    /// A processor that removes colour and keeps luminance (ITU-R BT.709 weights) and alpha.
    public static var grey: ImageProcessor { ImageProcessor(GreyStep()) }

    /// Returns a processor that adjusts brightness, contrast and saturation, in this order, and keeps alpha.
    ///
    /// It works like `brightness()`, `contrast()` and `saturate()` of the W3C's Filter Effects Module Level 1, without
    /// clamping in between. Values must be finite.
    ///
    /// - Parameters:
    ///   - brightness: the factor of all colours: 1 changes nothing, 0 yields black.
    ///   - contrast: the factor of the distance from the middle grey: 1 changes nothing, 0 yields a uniform grey.
    ///   - saturation: the amount of colour: 1 changes nothing, 0 yields grey.
    public static func adjust(
        brightness: Double = 1, contrast: Double = 1, saturation: Double = 1
    ) -> ImageProcessor {
        let matrix = ColorMatrix.brightness(brightness).then(.contrast(contrast)).then(.saturation(saturation))
        return ImageProcessor(
            ColorStep(
                name: "adjust(brightness: \(brightness), contrast: \(contrast), saturation: \(saturation))",
                matrix: matrix))
    }

    /// Returns a processor that rotates the image clockwise.
    ///
    /// Multiples of 90° move pixels without changing them. Any other angle enlarges the canvas to fit the rotated
    /// image, with transparent corners. A result of more than 100 million pixels fails with
    /// ``LoadError/Code/tooManyPixels``, unless the image already has as many.
    ///
    /// - Parameter degrees: the angle in degrees, which must be finite. Negative angles rotate counterclockwise.
    public static func rotate(degrees: Double) -> ImageProcessor { ImageProcessor(RotateStep(degrees: degrees)) }

    /// Returns a processor that mirrors the image without changing its size.
    public static func flip(_ axis: ImageProcessor.Axis) -> ImageProcessor { ImageProcessor(FlipStep(axis: axis)) }

    /// Returns a processor that composites the image over a plain colour, so that it becomes opaque.
    ///
    /// - Parameter color: the colour, which must be opaque.
    public static func flatten(on color: PixelColor = .white) -> ImageProcessor {
        ImageProcessor(FlattenStep(color: color))
    }

    /// Returns a processor that runs custom code on threads of the decode lane, several calls at once.
    ///
    /// - Parameters:
    ///   - name: the transform and its parameters. The same name must mean the same transform, because later requests
    ///     reuse the cached result.
    ///   - change: returns the transformed image, in any format. An error that it throws fails the request: a
    ///     ``LoadError`` as it is, any other as ``LoadError/Code/extensionFailed``. A cancel does not interrupt it.
    public static func custom(
        _ name: String, _ change: @escaping @Sendable (PixelBuffer) throws -> PixelBuffer
    ) -> ImageProcessor {
        ImageProcessor(CustomStep(name: name, change: change))
    }

    /// Returns a processor that composites another image over the image, whose size does not change.
    ///
    /// - Parameters:
    ///   - top: the image to draw, in any format, at its own size. Its part outside is dropped.
    ///   - name: the name of `top`, which stands for its pixels. The same name must mean the same pixels, because later
    ///     requests reuse the cached result.
    ///   - gravity: the place of `top`. ``Resize/Gravity/interest`` is the middle.
    ///   - margin: the distance from the edges that `gravity` names, in pixels, 0 … 1,000,000.
    ///   - opacity: the factor of the alpha of `top`, 0 … 1.
    ///   - blend: the way in which colours are combined where both images are visible.
    public static func overlay(
        _ top: PixelBuffer, name: String, gravity: Resize.Gravity = .center, margin: Int = 0, opacity: Double = 1,
        blend: ImageProcessor.Blend = .normal
    ) -> ImageProcessor {
        ImageProcessor(
            OverlayStep(
                name: name, top: top, gravity: gravity, margin: margin, opacity: opacity, blend: blend, share: nil))
    }

    /// Returns a processor that draws a mark over the image, scaled down to a share of its size.
    ///
    /// - Parameters:
    ///   - mark: the image to draw, in any format. It is never enlarged.
    ///   - name: the name of `mark`, which stands for its pixels: see
    ///     ``overlay(_:name:gravity:margin:opacity:blend:)``.
    ///   - gravity: the place of the mark.
    ///   - margin: the distance from the edges that `gravity` names, in pixels, 0 … 1,000,000.
    ///   - opacity: the factor of the alpha of `mark`, 0 … 1.
    ///   - share: the largest share of the image's width, and of its height, that the mark takes, above 0 up to 1.
    public static func watermark(
        _ mark: PixelBuffer, name: String, gravity: Resize.Gravity = .bottomRight, margin: Int = 16,
        opacity: Double = 0.5, share: Double = 0.25
    ) -> ImageProcessor {
        ImageProcessor(
            OverlayStep(
                name: name, top: mark, gravity: gravity, margin: margin, opacity: opacity, blend: .normal,
                share: share))
    }

    /// Returns a processor that composites a plain colour over the image where it is visible, and keeps alpha.
    ///
    /// An opaque colour with ``ImageProcessor/Blend/normal`` makes an icon of one colour.
    ///
    /// - Parameters:
    ///   - color: the colour. Its alpha is the strength of the tint.
    ///   - blend: the way in which the colour and those of the image are combined.
    public static func tint(_ color: PixelColor, blend: ImageProcessor.Blend = .normal) -> ImageProcessor {
        ImageProcessor(TintStep(color: color, blend: blend))
    }
}

extension ImageProcessor {
    /// The direction in which an image is mirrored.
    public enum Axis: String, Sendable, Hashable, CaseIterable {
        /// Swaps left and right.
        case horizontal
        /// Swaps top and bottom.
        case vertical
    }

    /// The way in which the colours of two images are combined where both are visible (W3C Compositing and Blending
    /// Level 1, section 9.1). Elsewhere each keeps its own.
    public enum Blend: String, Sendable, Hashable, CaseIterable {
        /// The colour of the upper image.
        case normal
        /// The product of both: never lighter than either.
        case multiply
        /// The inverse of the product of the inverses: never darker than either.
        case screen
        /// ``multiply`` where the lower image is dark, ``screen`` where it is light.
        case overlay
        /// The darker of each component.
        case darken
        /// The lighter of each component.
        case lighten
    }

    /// A line along an edge of an image.
    public struct Border: Sendable, Hashable, CustomStringConvertible {
        /// The width in pixels, at least 0, which may be fractional.
        public var width: Double
        /// The colour, composited over the image by its alpha.
        public var color: PixelColor

        /// Creates a border.
        public init(width: Double, color: PixelColor) {
            self.width = width
            self.color = color
        }

        public var description: String { "\(width) \(color)" }
    }
}

extension PixelBuffer {
    /// Returns the image after all of these steps, applied in this order on the calling thread.
    ///
    /// The result may have another format, for example with alpha after rounding corners.
    ///
    /// - Parameters:
    ///   - processors: the steps.
    ///   - cancellation: checked by each step, at least before it starts.
    /// - Throws: the error of the first step that fails; ``LoadError/Code/cancelled`` if `cancellation` is set.
    public func processed(
        by processors: [any ImageProcessing], cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> PixelBuffer {
        var pixels = self
        for processor in processors { pixels = try processor.process(pixels, cancellation: cancellation) }
        return pixels
    }
}
