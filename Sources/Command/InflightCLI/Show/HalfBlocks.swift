/// Draws pixels as text: each character shows two, one above the other, in its foreground and its background colour.
///
/// Sources: U+2580 and U+2584 of Unicode's block elements; SGR of ECMA-48 section 8.3.117, its parameters 38 and 48 for
/// colours in xterm's form, with semicolons, which all terminals understand.
struct HalfBlocks: Sendable {
    var colors: ColorDepth

    /// A colour in its output form.
    private enum Ink: Equatable {
        /// The terminal's default colour.
        case standard
        case rgb(RGB)
        case palette(UInt8)
    }

    private struct Pen: Equatable {
        var letter = Ink.standard
        var ground = Ink.standard
    }

    private static let upper = Array("▀".utf8)
    private static let lower = Array("▄".utf8)
    private static let blank = Array(" ".utf8)

    /// Returns a line of text for every two rows of pixels, without line ends. Each begins and ends in the terminal's
    /// default colours, so that it may be written without the others.
    func lines(_ pixels: TerminalPixels) -> [[UInt8]] {
        if colors == .none { return LetterRamp.lines(pixels) }
        return stride(from: 0, to: pixels.height, by: 2).map { line(pixels, $0) }
    }

    private func line(_ pixels: TerminalPixels, _ y: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var pen = Pen()
        for x in 0..<pixels.width {
            let (character, wanted) = cell(ink(pixels[x, y]), ink(pixels[x, y + 1]), pen)
            change(&pen, to: wanted, &bytes)
            bytes += character
        }
        if pen != Pen() { bytes += Array("\u{1B}[0m".utf8) }
        return bytes
    }

    private func ink(_ color: RGB?) -> Ink {
        guard let color else { return .standard }
        return colors == .palette ? .palette(XtermPalette.nearest(color)) : .rgb(color)
    }

    /// Returns a character and its colours: of several that look the same, the one with the fewest colour changes.
    private func cell(_ top: Ink, _ bottom: Ink, _ pen: Pen) -> ([UInt8], Pen) {
        // The default foreground colour cannot be used as a background.
        if top == bottom { return (Self.blank, Pen(letter: pen.letter, ground: top)) }
        let byUpper = Pen(letter: top, ground: bottom)
        let byLower = Pen(letter: bottom, ground: top)
        if top == .standard { return (Self.lower, byLower) }
        if bottom == .standard { return (Self.upper, byUpper) }
        return Self.changes(pen, byLower) < Self.changes(pen, byUpper) ? (Self.lower, byLower) : (Self.upper, byUpper)
    }

    private static func changes(_ from: Pen, _ to: Pen) -> Int {
        (from.letter == to.letter ? 0 : 1) + (from.ground == to.ground ? 0 : 1)
    }

    private func change(_ pen: inout Pen, to wanted: Pen, _ bytes: inout [UInt8]) {
        guard pen != wanted else { return }
        var parameters: [String] = []
        if pen.letter != wanted.letter { parameters.append(Self.parameters(wanted.letter, 38)) }
        if pen.ground != wanted.ground { parameters.append(Self.parameters(wanted.ground, 48)) }
        bytes += Array("\u{1B}[\(parameters.joined(separator: ";"))m".utf8)
        pen = wanted
    }

    private static func parameters(_ ink: Ink, _ place: Int) -> String {
        switch ink {
        case .standard: "\(place + 1)"
        case .rgb(let color): "\(place);2;\(color.red);\(color.green);\(color.blue)"
        case .palette(let index): "\(place);5;\(index)"
        }
    }
}

/// Draws pixels as characters, one for each, for output without colours. Designed for light text on a dark background.
enum LetterRamp {
    private static let letters = Array(" .:-=+*#%@".utf8)

    static func lines(_ pixels: TerminalPixels) -> [[UInt8]] {
        (0..<pixels.height).map { y in
            (0..<pixels.width).map { x in pixels[x, y].map(letter) ?? letters[0] }
        }
    }

    /// Returns the character by luma, with the weights of ITU-R BT.709.
    private static func letter(_ color: RGB) -> UInt8 {
        let luma = 2126 * Int(color.red) + 7152 * Int(color.green) + 722 * Int(color.blue)
        return letters[min(letters.count - 1, luma * letters.count / (255 * 10_000))]
    }
}
