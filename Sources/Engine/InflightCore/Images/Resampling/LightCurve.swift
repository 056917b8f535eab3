#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// From the samples of sRGB to the light that they stand for and back (IEC 61966-2-1 section 5.2), from tables.
struct LightCurve: Sendable {
    static let sRGB = LightCurve()

    /// The light of each of the 256 samples, from 0 to 1.
    let light: [Float]
    /// The sample that is nearest to light of so many of ``steps`` parts. Where samples change slowest with light a step
    /// is a twentieth of one.
    let bytes: [UInt8]

    static let steps: Float = 65535

    private init() {
        light = (0...255).map { Float(Self.light(Double($0) / 255)) }
        // Halfway between two samples the next one begins.
        let limits = (0..<255).map { Self.light((Double($0) + 0.5) / 255) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(65536)
        var sample = 0
        for step in 0...65535 {
            while sample < 255, Double(step) / 65535 >= limits[sample] { sample += 1 }
            bytes.append(UInt8(sample))
        }
        self.bytes = bytes
    }

    private static func light(_ sample: Double) -> Double {
        sample <= 0.04045 ? sample / 12.92 : pow((sample + 0.055) / 1.055, 2.4)
    }
}
