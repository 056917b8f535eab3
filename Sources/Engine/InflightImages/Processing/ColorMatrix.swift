import InflightConcurrency

/// A colour transform that is the same for every pixel: each channel is a sum of all three and a constant.
struct ColorMatrix: Sendable, Equatable {
    /// The contributions of red, green and blue to each channel. The constants are in units of full light.
    var red: SIMD4<Float>
    var green: SIMD4<Float>
    var blue: SIMD4<Float>
    var constant: SIMD4<Float>

    /// Filter Effects Module Level 1, section 12.1.2.
    static func brightness(_ amount: Double) -> ColorMatrix { linear(slope: amount, intercept: 0) }

    /// Filter Effects Module Level 1, section 12.1.3.
    static func contrast(_ amount: Double) -> ColorMatrix { linear(slope: amount, intercept: 0.5 - 0.5 * amount) }

    /// Filter Effects Module Level 1, section 9.6 (`feColorMatrix`, type `saturate`).
    static func saturation(_ amount: Double) -> ColorMatrix {
        let s = Float(amount)
        let (r, g, b): (Float, Float, Float) = (0.213, 0.715, 0.072)
        return ColorMatrix(
            red: SIMD4(r + (1 - r) * s, r - r * s, r - r * s, 0),
            green: SIMD4(g - g * s, g + (1 - g) * s, g - g * s, 0),
            blue: SIMD4(b - b * s, b - b * s, b + (1 - b) * s, 0), constant: .zero)
    }

    private static func linear(slope: Double, intercept: Double) -> ColorMatrix {
        let (slope, intercept) = (Float(slope), Float(intercept))
        return ColorMatrix(
            red: SIMD4(slope, 0, 0, 0), green: SIMD4(0, slope, 0, 0), blue: SIMD4(0, 0, slope, 0),
            constant: SIMD4(intercept, intercept, intercept, 0))
    }

    /// Returns this transform followed by `next`, without clamping in between.
    func then(_ next: ColorMatrix) -> ColorMatrix {
        func applied(_ column: SIMD4<Float>) -> SIMD4<Float> {
            let r = next.red * column[0]
            let g = next.green * column[1]
            return r + g + next.blue * column[2]
        }
        return ColorMatrix(
            red: applied(red), green: applied(green), blue: applied(blue),
            constant: applied(constant) + next.constant)
    }

    /// The transform for pixels whose first channel is blue.
    fileprivate var swapped: ColorMatrix {
        func turned(_ v: SIMD4<Float>) -> SIMD4<Float> { SIMD4(v[2], v[1], v[0], v[3]) }
        return ColorMatrix(red: turned(blue), green: turned(green), blue: turned(red), constant: turned(constant))
    }
}

/// Transforms colours by a matrix and keeps alpha.
struct ColorStep: ImageProcessing {
    let name: String
    let matrix: ColorMatrix

    var identity: String { name }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        let columns = [matrix.red, matrix.green, matrix.blue, matrix.constant]
        guard columns.allSatisfy({ column in column.indices.allSatisfy { column[$0].isFinite } }) else {
            throw ProcessingError.invalid("Invalid processor \(name). Parameters must be finite numbers.")
        }
        let matrix = pixels.format.order == .rgba ? matrix : matrix.swapped
        let isPremultiplied = pixels.format.alpha == .premultiplied
        let width = pixels.width
        return try unsafe pixels.rows(to: pixels.format, cancellation: cancellation) { _, source, target in
            unsafe transformRow(width, source, target) { matrix.applied(to: $0, isPremultiplied) }
        }
    }
}

extension ColorMatrix {
    /// Transforms four pixels at once. The first channel is in the lowest byte of each.
    @inline(__always)
    fileprivate func applied(to pixels: SIMD4<UInt32>, _ isPremultiplied: Bool) -> SIMD4<UInt32> {
        let first = Self.channel(pixels)
        let second = Self.channel(pixels &>> 8)
        let third = Self.channel(pixels &>> 16)
        // A premultiplied colour never exceeds its alpha.
        let full = isPremultiplied ? Self.channel(pixels &>> 24) : SIMD4(repeating: 255)
        func sum(_ channel: Int) -> SIMD4<UInt32> {
            let colors = first * red[channel] + second * green[channel]
            var sum = colors + third * blue[channel] + full * constant[channel]
            sum.replace(with: 0, where: sum .< 0)
            sum.replace(with: full, where: sum .> full)
            return unsafe unsafeBitCast(sum + Self.magic, to: SIMD4<UInt32>.self) & 0xFF
        }
        return sum(0) | sum(1) &<< 8 | sum(2) &<< 16 | pixels & 0xFF00_0000
    }

    private static let magic: Float = 8_388_608

    /// Returns the lowest byte of each pixel as a float: see ``PixelFloats``.
    @inline(__always)
    private static func channel(_ pixels: SIMD4<UInt32>) -> SIMD4<Float> {
        let bits = pixels & 0xFF | magic.bitPattern
        return unsafe unsafeBitCast(bits, to: SIMD4<Float>.self) - magic
    }
}

/// Composites the image over a plain colour.
struct FlattenStep: ImageProcessing {
    let color: PixelColor

    var identity: String { "flatten(on: \(color))" }

    func process(_ pixels: PixelBuffer, cancellation: CancellationFlag) throws(LoadError) -> PixelBuffer {
        guard color.alpha == 255 else {
            throw ProcessingError.invalid("Invalid processor \(identity). The colour must be opaque.")
        }
        try cancellation.checkProcessing()
        return pixels.flattened(onto: color.red, color.green, color.blue)
    }
}
