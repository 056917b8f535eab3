import Glibc

/// A colour profile as mathematics: the bytes that a file carries, and the conversion of its colours to sRGB, in double
/// precision and without a library.
package struct GoldenProfile: Sendable {
    /// The profile's bytes (ICC.1:2001-04, which is version 2.4).
    package var bytes: [UInt8]
    /// Converts samples from 0 to 255 to light in sRGB primaries, where 1 is white.
    fileprivate var light: @Sendable (SIMD4<Double>) -> SIMD3<Double>

    /// Returns red, green and blue in sRGB, from 0 to 255 and not rounded.
    package func sRGB(_ samples: SIMD4<Double>) -> SIMD3<Double> {
        let light = light(samples)
        return SIMD3(Self.encoded(light[0]), Self.encoded(light[1]), Self.encoded(light[2]))
    }

    package func sRGB(_ color: SIMD3<Double>) -> SIMD3<Double> { sRGB(SIMD4(color, 0)) }

    /// IEC 61966-2-1 section 5.2; colours out of gamut are clipped.
    private static func encoded(_ light: Double) -> Double {
        let light = min(1, max(0, light))
        return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055)
    }
}

package enum GoldenProfiles {
    /// The primaries of SMPTE RP 431-2, white and curve of sRGB.
    package static let displayP3 = rgb(
        "Display P3", Primaries(red: (0.680, 0.320), green: (0.265, 0.690), blue: (0.150, 0.060)),
        curve: Pieces.parametricSRGB
    ) { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }

    /// Adobe RGB (1998) color image encoding, section 4: an exponent of 2 + 51/256.
    package static let adobeRGB = rgb(
        "Adobe RGB", Primaries(red: (0.64, 0.33), green: (0.21, 0.71), blue: (0.15, 0.06)),
        curve: Pieces.gamma(2.19921875)
    ) { pow($0, 2.19921875) }

    /// ITU-R BT.2020, primaries and curve, without its display's.
    package static let bt2020 = rgb(
        "BT.2020", Primaries(red: (0.708, 0.292), green: (0.170, 0.797), blue: (0.131, 0.046)),
        curve: Pieces.parametric([1 / 0.45, 1 / 1.099, 0.099 / 1.099, 1 / 4.5, 0.081])
    ) { $0 < 0.081 ? $0 / 4.5 : pow(($0 + 0.099) / 1.099, 1 / 0.45) }

    /// The primaries of sRGB in linear light.
    package static let linear = rgb("Linear", .sRGB, curve: Pieces.gamma(1)) { $0 }

    /// Grey in linear light.
    package static let linearGray = GoldenProfile(
        bytes: Pieces.profile(
            kind: "mntr", space: "GRAY", tags: Pieces.profileFront("Linear grey") + [("kTRC", Pieces.gamma(1))]),
        light: { samples in SIMD3(repeating: samples[0] / 255) })

    /// Grey with an exponent of 1.8.
    package static let gray = GoldenProfile(
        bytes: Pieces.profile(
            kind: "mntr", space: "GRAY", tags: Pieces.profileFront("Grey 1.8") + [("kTRC", Pieces.gamma(1.8))]),
        light: { samples in SIMD3(repeating: pow(samples[0] / 255, 461.0 / 256)) })

    /// Four inks, each of which absorbs a share of the light that grows with the ink's power of 1.5. Between the
    /// corners of its table the light is linear, so the interpolation of a decoder does not matter.
    package static let inks = GoldenProfile(
        bytes: Pieces.profile(
            kind: "prtr", space: "CMYK", tags: Pieces.profileFront("Four inks") + [("A2B0", inkTable)]),
        light: { samples in inkLight(SIMD4(power(samples[0]), power(samples[1]), power(samples[2]), power(samples[3])))
        })

    private static func power(_ ink: Double) -> Double { pow(ink / 255, 1.5) }

    private static func inkLight(_ inks: SIMD4<Double>) -> SIMD3<Double> {
        SIMD3(
            1 - (inks * SIMD4(0.55, 0.06, 0.02, 0.36)).sum(), 1 - (inks * SIMD4(0.12, 0.50, 0.03, 0.34)).sum(),
            1 - (inks * SIMD4(0.04, 0.13, 0.50, 0.32)).sum())
    }

    /// A table of 16 bits (ICC.1:2001-04 section 6.5.7): curves of 256 steps, two points for each ink.
    private static let inkTable: [UInt8] = {
        var table = Array("mft2".utf8) + Pieces.big32(0) + [4, 3, 2, 0]
        for index in 0..<9 { table += Pieces.fixed(index % 4 == 0 ? 1 : 0) }
        table += Pieces.big16(256) + Pieces.big16(2)
        let curve = (0..<256).flatMap { Pieces.big16(Int((65535 * power(Double($0))).rounded())) }
        for _ in 0..<4 { table += curve }
        for corner in 0..<16 {
            let light = inkLight(
                SIMD4(
                    Double(corner >> 3 & 1), Double(corner >> 2 & 1), Double(corner >> 1 & 1), Double(corner & 1)))
            let xyz = Primaries.sRGB.toXYZ * light
            for index in 0..<3 { table += Pieces.big16(Int((xyz[index] * 32768).rounded())) }
        }
        for _ in 0..<3 { table += [0, 0, 0xFF, 0xFF] }
        return table
    }()

    private static func rgb(
        _ name: String, _ primaries: Primaries, curve: [UInt8], _ decode: @escaping @Sendable (Double) -> Double
    ) -> GoldenProfile {
        let toXYZ = primaries.toXYZ
        let toSRGB = Primaries.sRGB.toXYZ.inverse * toXYZ
        let columns = zip(["rXYZ", "gXYZ", "bXYZ"], toXYZ.columns).map { ($0, Pieces.xyz($1)) }
        let curves = ["rTRC", "gTRC", "bTRC"].map { ($0, curve) }
        return GoldenProfile(
            bytes: Pieces.profile(
                kind: "mntr", space: "RGB ", tags: Pieces.profileFront(name) + columns + curves),
            light: { samples in
                toSRGB
                    * SIMD3(decode(samples[0] / 255), decode(samples[1] / 255), decode(samples[2] / 255))
            })
    }
}

/// The chromaticities of a display with a white point of D65.
struct Primaries {
    var red, green, blue: (x: Double, y: Double)

    static let sRGB = Primaries(red: (0.64, 0.33), green: (0.30, 0.60), blue: (0.15, 0.06))

    /// Converts light to XYZ under D50, where profiles connect (Bradford adaptation: ICC.1:2001-04 annex E).
    var toXYZ: Matrix {
        func xyz(_ point: (x: Double, y: Double)) -> SIMD3<Double> {
            SIMD3(point.x / point.y, 1, (1 - point.x - point.y) / point.y)
        }
        let white = xyz((0.3127, 0.3290))
        let points = Matrix(columns: [xyz(red), xyz(green), xyz(blue)])
        let scale = points.inverse * white
        let light = Matrix(columns: (0..<3).map { points.columns[$0] * scale[$0] })
        let bradford = Matrix(
            columns: [SIMD3(0.8951, -0.7502, 0.0389), SIMD3(0.2664, 1.7135, -0.0685), SIMD3(-0.1614, 0.0367, 1.0296)])
        let ratio = (bradford * SIMD3(0.9642, 1, 0.8249)) / (bradford * white)
        let adapted = Matrix(columns: (bradford * light).columns.map { $0 * ratio })
        return bradford.inverse * adapted
    }
}

struct Matrix {
    var columns: [SIMD3<Double>]

    static func * (left: Matrix, right: SIMD3<Double>) -> SIMD3<Double> {
        left.columns[0] * right[0] + left.columns[1] * right[1] + left.columns[2] * right[2]
    }

    static func * (left: Matrix, right: Matrix) -> Matrix { Matrix(columns: right.columns.map { left * $0 }) }

    /// Computed by cross products: each row of the inverse is perpendicular to two columns.
    var inverse: Matrix {
        func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
            SIMD3(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
        }
        let rows = [cross(columns[1], columns[2]), cross(columns[2], columns[0]), cross(columns[0], columns[1])]
        let determinant = (columns[0] * rows[0]).sum()
        return Matrix(columns: (0..<3).map { SIMD3(rows[0][$0], rows[1][$0], rows[2][$0]) / determinant })
    }
}
