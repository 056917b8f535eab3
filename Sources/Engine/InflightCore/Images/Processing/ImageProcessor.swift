public import InflightConcurrency

/// One step that changes a decoded picture, as a value that reads as it is written:
///
/// ```swift
/// request.processors = [.resize(width: 320), .blur(radius: 4)]
/// ```
///
/// Lengths are in pixels of the picture as the step finds it. Two steps with the same ``identity`` are equal; they share
/// their work and their results. Colours are changed as they are stored (sRGB, not linear light), as CSS and the usual
/// editors do; ``resize(width:height:fit:gravity:enlarges:light:)`` does it in linear light where that is asked for.
public struct ImageProcessor: ImageProcessing, Hashable, CustomStringConvertible {
    private let processing: any ImageProcessing

    /// A processor of your own.
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
    /// Scaled, and cropped where the fit says so.
    public static func resize(_ resize: Resize) -> ImageProcessor { Self(ResizeStep(resize: resize)) }

    /// Scaled to a width, a height, or both.
    public static func resize(
        width: Int? = nil, height: Int? = nil, fit: Resize.Fit = .contain, gravity: Resize.Gravity = .center,
        enlarges: Bool = false, light: Resize.Light = .encoded
    ) -> ImageProcessor {
        resize(Resize(width: width, height: height, fit: fit, gravity: gravity, enlarges: enlarges, light: light))
    }

    /// The part that begins at `x`, `y`. What of it lies outside the picture is left away; where all does, the load
    /// fails as ``LoadError/Code/invalidRequest``.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> ImageProcessor {
        Self(CropStep(place: .at(x: x, y: y), width: width, height: height))
    }

    /// A part of that size, at most the picture's own, from where `gravity` says.
    public static func crop(width: Int, height: Int, gravity: Resize.Gravity = .center) -> ImageProcessor {
        Self(CropStep(place: .gravity(gravity), width: width, height: height))
    }

    /// Transparent outside of round corners, whose edge is smooth; with a border along it, if one is given.
    ///
    /// - Parameter radius: at most half the shorter side is taken.
    public static func roundCorners(radius: Double, border: Border? = nil) -> ImageProcessor {
        Self(FrameStep(shape: .rounded(radius: radius), border: border))
    }

    /// The square in the middle, transparent outside of a circle.
    public static func circle(border: Border? = nil) -> ImageProcessor {
        Self(FrameStep(shape: .circle, border: border))
    }

    /// A line along the edges, inside the picture.
    public static func border(width: Double, color: PixelColor) -> ImageProcessor {
        Self(FrameStep(shape: .rounded(radius: 0), border: Border(width: width, color: color)))
    }

    /// A Gaussian blur whose standard deviation is `radius`, as in CSS. The time it takes does not depend on that.
    ///
    /// - Parameter radius: 0 … 1,000; 0 changes nothing.
    public static func blur(radius: Double) -> ImageProcessor { Self(BlurStep(radius: radius)) }

    /// An unsharp mask: what a blur takes away is added `amount` times.
    ///
    /// - Parameters:
    ///   - amount: 0 … 10; 0 changes nothing.
    ///   - radius: of the blur.
    public static func sharpen(amount: Double = 0.5, radius: Double = 1) -> ImageProcessor {
        Self(SharpenStep(amount: amount, radius: radius))
    }

    /// No colours, only how light they are (ITU-R BT.709 weights).
    public static var grey: ImageProcessor { Self(GreyStep()) }

    /// Brightness, contrast and saturation, applied in this order; 1 changes nothing, 0 gives black, an even grey, or no
    /// colours. As the functions `brightness()`, `contrast()` and `saturate()` of the W3C's Filter Effects Module
    /// Level 1.
    public static func adjust(
        brightness: Double = 1, contrast: Double = 1, saturation: Double = 1
    ) -> ImageProcessor {
        let matrix = ColorMatrix.brightness(brightness).then(.contrast(contrast)).then(.saturation(saturation))
        return Self(
            ColorStep(
                name: "adjust(brightness: \(brightness), contrast: \(contrast), saturation: \(saturation))",
                matrix: matrix))
    }

    /// Turned clockwise. Quarters of a turn move pixels and change none; any other angle makes the picture as large as the
    /// turned one needs, and transparent in its corners.
    public static func rotate(degrees: Double) -> ImageProcessor { Self(RotateStep(degrees: degrees)) }

    public enum Axis: String, Sendable, Hashable, CaseIterable {
        /// Left and right change places.
        case horizontal
        /// Top and bottom change places.
        case vertical
    }

    public static func flip(_ axis: Axis) -> ImageProcessor { Self(FlipStep(axis: axis)) }

    /// Opaque, over a plain colour.
    public static func flatten(on color: PixelColor = .white) -> ImageProcessor { Self(FlattenStep(color: color)) }

    /// Your own code. It runs on a thread of the decode lane, several times at once; what it throws ends the load as
    /// ``LoadError/Code/extensionFailed``, unless it is a ``LoadError`` itself.
    ///
    /// - Parameter name: what it does, with its parameters: the same name has to mean the same change, for whoever asks
    ///   for it later gets the result that is kept.
    public static func custom(
        _ name: String, _ change: @escaping @Sendable (PixelBuffer) throws -> PixelBuffer
    ) -> ImageProcessor {
        Self(CustomStep(name: name, change: change))
    }
}

/// A line along an edge.
public struct Border: Sendable, Hashable, CustomStringConvertible {
    /// In pixels; may have a fraction.
    public var width: Double
    public var color: PixelColor

    public init(width: Double, color: PixelColor) {
        self.width = width
        self.color = color
    }

    public var description: String { "\(width) \(color)" }
}

extension PixelBuffer {
    /// The picture after all of these steps, in this order, on the calling thread.
    public func processed(
        by processors: [ImageProcessor], cancellation: CancellationFlag = CancellationFlag()
    ) throws(LoadError) -> PixelBuffer {
        var pixels = self
        for processor in processors { pixels = try processor.process(pixels, cancellation: cancellation) }
        return pixels
    }
}
