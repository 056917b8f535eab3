#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

enum Decibels {
    /// Peak signal to noise, for bytes.
    static func likeness(squares: Double, count: Int) -> Double {
        squares == 0 ? 100 : 10 * log10(255 * 255 * Double(count) / squares)
    }
}

enum Base64 {
    static func bytes(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        var bits = 0
        var count = 0
        for character in text.utf8 {
            let value: Int
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = Int(character) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = Int(character) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = Int(character) + 4
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            default: continue
            }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                result.append(UInt8(bits >> count & 0xFF))
            }
        }
        return result
    }
}

/// A generator whose numbers are the same in every run (splitmix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
