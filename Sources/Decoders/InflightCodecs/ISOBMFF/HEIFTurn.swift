import InflightCore

/// Turns and mirrors one after the other, as the properties `irot` and `imir` say (ISO/IEC 23008-12 section 6.5), in the
/// terms of EXIF: first mirrored from left to right, or not, then turned clockwise.
struct HEIFTurn {
    private var isMirrored = false
    private var quarters = 0

    /// Counter-clockwise, by quarters.
    mutating func rotate(_ angle: Int) {
        quarters = (quarters + 3 * angle) & 3
    }

    /// - Parameter leftToRight: left and right change places; otherwise above and below.
    mutating func mirror(leftToRight: Bool) {
        isMirrored.toggle()
        // Mirroring what was turned one way is turning what was mirrored the other way.
        quarters = ((leftToRight ? 0 : 2) - quarters) & 3
    }

    var swapsAxes: Bool { quarters & 1 == 1 }

    var orientation: ImageOrientation {
        isMirrored
            ? [.upMirrored, .rightMirrored, .downMirrored, .leftMirrored][quarters]
            : [.up, .right, .down, .left][quarters]
    }
}
