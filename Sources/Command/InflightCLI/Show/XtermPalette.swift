/// The 240 colours of xterm's palette that no theme changes: a cube of 6 × 6 × 6 from 16, and 24 greys from 232
/// (`256colres.pl` of xterm's sources).
enum XtermPalette {
    private static let levels: [Int] = [0, 95, 135, 175, 215, 255]

    /// Returns the index of the nearest colour. Green counts most and red least, about as eyes perceive them (weights
    /// of 2, 4 and 3 for the squares of the differences).
    static func nearest(_ color: RGB) -> UInt8 {
        let (red, green, blue) = (Int(color.red), Int(color.green), Int(color.blue))
        // The channels are weighted independently, so the nearest level of each gives the nearest colour of the cube.
        let (r, g, b) = (level(red), level(green), level(blue))
        let cube = distance(color, levels[r], levels[g], levels[b])
        // The sum of the squares is least at the weighted mean.
        let nineTimesMean = 2 * red + 4 * green + 3 * blue
        let grey = min(23, max(0, nineTimesMean - 9 * 3) / 90)
        let value = 8 + 10 * grey
        return UInt8(distance(color, value, value, value) < cube ? 232 + grey : 16 + 36 * r + 6 * g + b)
    }

    /// Returns a colour of the palette, for an index from 16.
    static func color(_ index: UInt8) -> RGB {
        precondition(index >= 16, "the first sixteen are the theme's")
        if index >= 232 {
            let value = UInt8(8 + 10 * (Int(index) - 232))
            return RGB(red: value, green: value, blue: value)
        }
        let place = Int(index) - 16
        return RGB(
            red: UInt8(levels[place / 36]), green: UInt8(levels[place / 6 % 6]), blue: UInt8(levels[place % 6]))
    }

    static func distance(_ color: RGB, _ red: Int, _ green: Int, _ blue: Int) -> Int {
        let (r, g, b) = (Int(color.red) - red, Int(color.green) - green, Int(color.blue) - blue)
        return 2 * r * r + 4 * g * g + 3 * b * b
    }

    private static func level(_ value: Int) -> Int {
        // The boundaries are halfway between two levels.
        value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40
    }
}
