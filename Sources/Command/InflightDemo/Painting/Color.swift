import InflightTestSupport

/// Red, green and blue from 0 to 1, as sRGB stores them; the fourth lane is unused.
typealias Color = SIMD4<Float>

extension SIMD4<Float> {
    /// Creates a colour from hexadecimal RGB, as in `Color(0xFF8800)`.
    init(_ hex: UInt32) {
        self.init(Float(hex >> 16 & 255) / 255, Float(hex >> 8 & 255) / 255, Float(hex & 255) / 255, 0)
    }

    /// Returns this colour at 0, `other` at 1, and a mixture between. The amount is limited to that range.
    @inline(__always)
    func mixed(with other: Color, _ amount: Float) -> Color {
        self + (other - self) * Math.clamped(amount)
    }

    /// Returns the colour with light added, never beyond white.
    @inline(__always)
    func lit(by light: Color, _ amount: Float) -> Color {
        self + (Color(repeating: 1) - self) * light * Swift.max(0, amount)
    }
}

/// Small functions for painting.
enum Math {
    @inline(__always)
    static func clamped(_ value: Float) -> Float { min(1, max(0, value)) }

    /// Returns 0 up to `low`, 1 from `high` on, and a smooth transition between them.
    @inline(__always)
    static func step(_ low: Float, _ high: Float, _ value: Float) -> Float {
        let t = clamped((value - low) / (high - low))
        return t * t * (3 - 2 * t)
    }
}

/// Random numbers that are the same on every machine and in every run.
struct Dice {
    private var numbers: SeededGenerator

    init(seed: UInt64) {
        // Multiply the seed, so that adjacent seeds yield unrelated sequences.
        numbers = SeededGenerator(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678_9ABC_DEF1)
    }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func float(_ range: ClosedRange<Float>) -> Float {
        range.lowerBound + (range.upperBound - range.lowerBound) * Float(next() >> 40) / Float(1 << 24)
    }

    mutating func int(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[int(0...elements.count - 1)] }

    mutating func pick(from palettes: [Palette]) -> Palette { pick(palettes) }

    mutating func seed() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
}
