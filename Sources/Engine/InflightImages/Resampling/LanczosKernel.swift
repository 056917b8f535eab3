import Glibc

/// The Lanczos function with three lobes, from a table. Computing a sine per weight would cost more than resizing a
/// small image.
struct LanczosKernel {
    static let lobes = 3.0

    private static let steps = 1024.0
    private static let table: [Double] = (0...Int(lobes * steps) + 1).map { exact(Double($0) / steps) }

    private let table = Self.table

    /// Returns the value at `distance`, with an error below two millionths.
    @inline(__always)
    func callAsFunction(_ distance: Double) -> Double {
        let position = abs(distance) * Self.steps
        guard position < Self.lobes * Self.steps else { return 0 }
        let index = Int(position)
        let low = table[index]
        return low + (table[index + 1] - low) * (position - Double(index))
    }

    private static func exact(_ distance: Double) -> Double {
        let x = distance * .pi
        if x < 1e-9 { return 1 }
        return distance >= lobes ? 0 : lobes * sin(x) * sin(x / lobes) / (x * x)
    }
}
