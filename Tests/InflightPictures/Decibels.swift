import Glibc

package enum Decibels {
    /// Returns the peak signal-to-noise ratio of bytes, or 100 if nothing differs.
    package static func psnr(squares: Double, count: Int) -> Double {
        squares == 0 ? 100 : 10 * log10(255 * 255 * Double(count) / squares)
    }
}

package enum Base64 {
    package static func bytes(_ text: String) -> [UInt8] {
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
