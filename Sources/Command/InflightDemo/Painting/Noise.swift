/// Smooth noise on a line and in the plane, from 0 to 1, for clouds and mountains.
enum Noise {
    @inline(__always)
    static func hash(_ x: Int32, _ y: Int32, _ seed: UInt32) -> Float {
        var h = UInt32(bitPattern: x) &* 0x85EB_CA6B ^ UInt32(bitPattern: y) &* 0xC2B2_AE35 ^ seed
        h = (h ^ h >> 15) &* 0x2C1B_3C6D
        h = (h ^ h >> 12) &* 0x297A_2D39
        return Float((h ^ h >> 15) >> 8) * (1 / Float(1 << 24))
    }

    @inline(__always)
    static func plane(_ x: Float, _ y: Float, _ seed: UInt32) -> Float {
        // Like `rounded(.down)`, which calls a function on processors without that instruction.
        let ix = Int32(x) - (x < 0 ? 1 : 0)
        let iy = Int32(y) - (y < 0 ? 1 : 0)
        let tx = x - Float(ix)
        let ty = y - Float(iy)
        let sx = tx * tx * (3 - 2 * tx)
        let sy = ty * ty * (3 - 2 * ty)
        let top = hash(ix, iy, seed) * (1 - sx) + hash(ix + 1, iy, seed) * sx
        let bottom = hash(ix, iy + 1, seed) * (1 - sx) + hash(ix + 1, iy + 1, seed) * sx
        return top * (1 - sy) + bottom * sy
    }

    /// Returns the sum of several octaves of noise, each half as strong and twice as fine as the one before.
    @inline(__always)
    static func clouds(_ x: Float, _ y: Float, octaves: Int, _ seed: UInt32) -> Float {
        var sum: Float = 0
        var strength: Float = 0.5
        var scale: Float = 1
        for octave in 0..<octaves {
            sum += strength * plane(x * scale, y * scale, seed &+ UInt32(octave) &* 7919)
            strength *= 0.5
            scale *= 2.03
        }
        return sum / (1 - strength * 2)
    }

    static func line(_ x: Float, _ seed: UInt32) -> Float { plane(x, 0.5, seed) }

    /// Returns rolling noise, for hills.
    static func hills(_ x: Float, octaves: Int, _ seed: UInt32) -> Float { clouds(x, 0.37, octaves: octaves, seed) }

    /// Returns noise with upward creases, for mountain ridges.
    static func ridges(_ x: Float, octaves: Int, _ seed: UInt32) -> Float {
        var sum: Float = 0
        var strength: Float = 0.5
        var scale: Float = 1
        for octave in 0..<octaves {
            let crease = 1 - abs(2 * line(x * scale, seed &+ UInt32(octave) &* 104_729) - 1)
            sum += strength * (octave == 0 ? crease : crease * 0.8 + 0.1)
            strength *= 0.45
            scale *= 2.17
        }
        return sum
    }
}
