import Glibc

/// Converts sRGB samples to linear light and back (IEC 61966-2-1 section 5.2), from tables.
struct TransferFunction: Sendable {
    static let sRGB = TransferFunction()

    /// The light of each of the 256 samples, 0 … 1.
    let light: [Float]
    /// The nearest sample for each light `index` / ``steps``. Near black, where samples change fastest with light, a
    /// step is a twentieth of a sample.
    let bytes: [UInt8]

    static let steps: Float = 65535

    private init() {
        light = (0...255).map { Float(Self.light(Double($0) / 255)) }
        // The rounding limits are halfway between adjacent samples.
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
