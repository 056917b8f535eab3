/// Colour profiles, assembled by the tests (ICC.1:2001-04).
extension Pieces {
    package static func fixed(_ value: Double) -> [UInt8] { big32(Int((value * 65536).rounded())) }

    package static func xyz(_ value: SIMD3<Double>) -> [UInt8] {
        Array("XYZ ".utf8) + big32(0) + fixed(value[0]) + fixed(value[1]) + fixed(value[2])
    }

    /// A curve with an exponent in units of 1/256.
    package static func gamma(_ value: Double) -> [UInt8] {
        Array("curv".utf8) + big32(0) + big32(1) + big16(Int((value * 256).rounded())) + [0, 0]
    }

    /// A curve with a straight part, by its five parameters.
    package static func parametric(_ values: [Double]) -> [UInt8] {
        Array("para".utf8) + big32(0) + big16(3) + big16(0) + values.flatMap { fixed($0) }
    }

    /// The curve of IEC 61966-2-1.
    package static let parametricSRGB = parametric([2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])

    /// The first tags of each profile: its name and the D50 white point.
    package static func profileFront(_ name: String) -> [(String, [UInt8])] {
        let text = Array(name.utf8) + [0]
        var description = Array("desc".utf8) + big32(0) + big32(text.count) + text
        description += [UInt8](repeating: 0, count: 78 + 3 - (description.count + 77) % 4)
        return [("desc", description), ("wtpt", xyz(SIMD3(0.9642, 1, 0.8249)))]
    }

    package static func profile(kind: String, space: String, tags: [(String, [UInt8])]) -> [UInt8] {
        var table = big32(tags.count)
        var data: [UInt8] = []
        for (name, content) in tags {
            table += Array(name.utf8) + big32(132 + 12 * tags.count + data.count) + big32(content.count)
            data += content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
        }
        var header = big32(128 + table.count + data.count) + big32(0) + [2, 0x40, 0, 0]
        header += Array((kind + space + "XYZ ").utf8) + [UInt8](repeating: 0, count: 12) + Array("acsp".utf8)
        header += [UInt8](repeating: 0, count: 28) + fixed(0.9642) + fixed(1) + fixed(0.8249)
        header += [UInt8](repeating: 0, count: 128 - header.count)
        return header + table + data
    }

    /// A colour profile with the sRGB primaries in the given order and curves with this gamma.
    package static func profile(order: [Int], gamma exponent: Double, name: String) -> [UInt8] {
        let primaries = [
            SIMD3(0.4361, 0.2225, 0.0139), SIMD3(0.3851, 0.7169, 0.0971), SIMD3(0.1431, 0.0606, 0.7141),
        ]
        let columns = zip(["rXYZ", "gXYZ", "bXYZ"], order).map { ($0, xyz(primaries[$1])) }
        let curves = ["rTRC", "gTRC", "bTRC"].map { ($0, gamma(exponent)) }
        return profile(kind: "mntr", space: "RGB ", tags: profileFront(name) + columns + curves)
    }

    /// The PNG chunk that carries a profile: a zlib stream with one stored block and an Adler-32 checksum.
    package static func iccp(_ profile: [UInt8], name: String) -> [UInt8] {
        var a = 1
        var b = 0
        for byte in profile {
            a = (a + Int(byte)) % 65521
            b = (b + a) % 65521
        }
        let stored = [1] + little16(profile.count) + little16(~profile.count & 0xFFFF) + profile
        return chunk("iCCP", Array("\(name)\0\0".utf8) + [0x78, 0x01] + stored + big32(b << 16 | a))
    }

    /// A JPEG file with a profile in one more segment.
    package static func jpeg(_ file: [UInt8], profile: [UInt8]) -> [UInt8] {
        jpeg(file, adding: 0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + profile)
    }
}
