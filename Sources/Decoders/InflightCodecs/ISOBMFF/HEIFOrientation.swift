import InflightImages

/// Combines the `irot` and `imir` properties (ISO/IEC 23008-12 section 6.5) in the order of EXIF: an optional mirroring
/// from left to right, then a clockwise rotation.
struct HEIFOrientation {
    private var isMirrored = false
    private var quarters = 0

    /// Rotates counter-clockwise by quarter turns.
    mutating func rotate(_ angle: Int) {
        quarters = (quarters + 3 * angle) & 3
    }

    /// - Parameter leftToRight: whether left and right are exchanged; otherwise top and bottom.
    mutating func mirror(leftToRight: Bool) {
        isMirrored.toggle()
        // Mirroring after a rotation equals the opposite rotation after mirroring.
        quarters = ((leftToRight ? 0 : 2) - quarters) & 3
    }

    var swapsAxes: Bool { quarters & 1 == 1 }

    var orientation: ImageInfo.Orientation {
        isMirrored
            ? [.upMirrored, .rightMirrored, .downMirrored, .leftMirrored][quarters]
            : [.up, .right, .down, .left][quarters]
    }
}
