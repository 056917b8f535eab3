/// A colour in sRGB with straight alpha, one byte per component.
public struct PixelColor: Sendable, Hashable, CustomStringConvertible {
    /// The red component, 0 … 255, not multiplied by alpha.
    public var red: UInt8
    /// The green component, 0 … 255, not multiplied by alpha.
    public var green: UInt8
    /// The blue component, 0 … 255, not multiplied by alpha.
    public var blue: UInt8
    /// The opacity, from 0 (transparent) to 255 (opaque).
    public var alpha: UInt8

    /// Creates a colour, opaque by default.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// Opaque white.
    public static let white = PixelColor(red: 255, green: 255, blue: 255)
    /// Opaque black.
    public static let black = PixelColor(red: 0, green: 0, blue: 0)
    /// Fully transparent black.
    public static let clear = PixelColor(red: 0, green: 0, blue: 0, alpha: 0)

    /// Creates a colour from `#rgb`, `#rrggbb` or `#rrggbbaa`, with or without `#`, in upper or lower case, or from
    /// `white`, `black` or `clear`.
    ///
    /// Returns `nil` for any other text.
    public init?(_ text: String) {
        switch text {
        case "white": self = .white
        case "black": self = .black
        case "clear": self = .clear
        default:
            let digits = text.utf8.drop { $0 == UInt8(ascii: "#") }
            guard text.utf8.count - digits.count <= 1 else { return nil }
            let values = digits.compactMap(Hexadecimal.value)
            guard values.count == digits.count else { return nil }
            switch values.count {
            case 3: self.init(red: values[0] * 17, green: values[1] * 17, blue: values[2] * 17)
            case 6, 8:
                let bytes = stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
                self.init(red: bytes[0], green: bytes[1], blue: bytes[2], alpha: bytes.count == 4 ? bytes[3] : 255)
            default: return nil
            }
        }
    }

    /// The colour as `#rrggbb`, or `#rrggbbaa` if it is not opaque.
    public var description: String {
        "#" + Hexadecimal.text(alpha == 255 ? [red, green, blue] : [red, green, blue, alpha])
    }

    /// Returns the colour in a byte order, premultiplied, each component 0 … 255.
    func premultiplied(_ order: PixelBuffer.Format.Order) -> SIMD4<Float> {
        let color = order == .rgba ? SIMD4(red, green, blue, 255) : SIMD4(blue, green, red, 255)
        return SIMD4<Float>(color) * (Float(alpha) / 255)
    }
}
