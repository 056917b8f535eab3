/// A generator whose numbers depend only on the seed, on every machine, so that failures can be repeated (splitmix64).
///
/// ```swift
/// var random = SeededGenerator(seed: 7)
/// let delay = Int.random(in: 0..<100, using: &random)
/// ```
///
/// A value: a copy continues with the same numbers. Constant time.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator. Every seed is valid.
    public init(seed: UInt64) {
        state = seed
    }

    /// Returns the next 64 pseudorandom bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0 ..< 1`.
    public mutating func unit() -> Double {
        Double(next() >> 11) / 9_007_199_254_740_992
    }

    /// Returns a number in `0 ..< bound`, which must be above zero.
    public mutating func below(_ bound: Int) -> Int {
        Int(unit() * Double(bound))
    }
}
