import InflightCore
import Testing

@testable import InflightCLI

/// Encodes pixels as characters and decodes them again.
@Suite(.timeLimit(.minutes(10)))
struct HalfBlocksTests {
    private let red = RGB(red: 255, green: 0, blue: 0)
    private let blue = RGB(red: 0, green: 0, blue: 255)

    private func text(_ colors: [RGB?], width: Int, _ depth: ColorDepth = .truecolor) -> [String] {
        let pixels = TerminalPixels(width: width, height: colors.count / width, colors: colors)
        return HalfBlocks(colors: depth).lines(pixels).map { String(decoding: $0, as: UTF8.self) }
    }

    private func shown(_ lines: [[UInt8]], width: Int, height: Int) -> [RGB?]? {
        let screen = ScreenModel(
            Array(lines.joined(separator: Array("\r\n".utf8))), columns: width, rows: lines.count + 1)
        return screen.unknown.isEmpty ? screen.pixels(line: 0, width: width, height: height) : nil
    }

    @Test("Two pixels become one half block with a colour for each")
    func block() {
        #expect(text([red, blue], width: 1) == ["\u{1B}[38;2;255;0;0;48;2;0;0;255m▀\u{1B}[0m"])
    }

    @Test("A colour is set only when it changes, and a cell of one colour sets only one")
    func minimal() {
        #expect(
            text([red, red, blue, blue], width: 2) == ["\u{1B}[38;2;255;0;0;48;2;0;0;255m▀▀\u{1B}[0m"])
        #expect(text([red, red, red, red], width: 2) == ["\u{1B}[48;2;255;0;0m  \u{1B}[0m"])
        // The other half block shows the same two colours in reverse order.
        #expect(
            text([red, blue, blue, red], width: 2) == ["\u{1B}[38;2;255;0;0;48;2;0;0;255m▀▄\u{1B}[0m"])
    }

    @Test("Transparent pixels show the background of the terminal")
    func transparent() {
        #expect(text([nil, nil], width: 1) == [" "])
        #expect(text([red, nil], width: 1) == ["\u{1B}[38;2;255;0;0m▀\u{1B}[0m"])
        #expect(text([nil, blue], width: 1) == ["\u{1B}[38;2;0;0;255m▄\u{1B}[0m"])
        // The last row of an odd height.
        #expect(text([red, red, blue], width: 1)[1] == "\u{1B}[38;2;0;0;255m▀\u{1B}[0m")
    }

    @Test("Pixels survive a round trip through half blocks", arguments: [1, 2, 7, 64])
    func roundTrip(_ height: Int) {
        var random = SystemRandomNumberGenerator()
        let palette = (0..<4).map { _ in
            RGB(red: .random(in: 0...255), green: .random(in: 0...255), blue: .random(in: 0...255))
        }
        for _ in 0..<50 {
            let colors = (0..<9 * height).map { _ in
                Bool.random() ? palette.randomElement(using: &random) : Bool.random() ? nil : red
            }
            let pixels = TerminalPixels(width: 9, height: height, colors: colors)
            let lines = HalfBlocks(colors: .truecolor).lines(pixels)
            #expect(shown(lines, width: 9, height: height) == colors)
        }
    }

    @Test("Each colour maps to the nearest of the 240 palette colours that no theme changes")
    func nearest() {
        for red in stride(from: 0, through: 255, by: 15) {
            for green in stride(from: 0, through: 255, by: 5) {
                for blue in stride(from: 0, through: 255, by: 17) {
                    let color = RGB(red: UInt8(red), green: UInt8(green), blue: UInt8(blue))
                    func distance(_ index: UInt8) -> Int {
                        let other = XtermPalette.color(index)
                        return XtermPalette.distance(color, Int(other.red), Int(other.green), Int(other.blue))
                    }
                    let best = (UInt8(16)...255).map(distance).min()
                    #expect(distance(XtermPalette.nearest(color)) == best, "\(color)")
                }
            }
        }
        for index in UInt8(16)...255 {
            #expect(XtermPalette.color(XtermPalette.nearest(XtermPalette.color(index))) == XtermPalette.color(index))
        }
        #expect(text([red, blue], width: 1, .palette) == ["\u{1B}[38;5;196;48;5;21m▀\u{1B}[0m"])
    }

    @Test("Colours that map to the same palette entry are set once")
    func paletteIsMinimal() {
        let almost = RGB(red: 254, green: 1, blue: 0)
        #expect(text([red, almost, red, almost], width: 2, .palette) == ["\u{1B}[48;5;196m  \u{1B}[0m"])
    }

    @Test("Without colours, brighter pixels become characters with more ink")
    func letters() {
        let greys: [RGB?] = [0, 30, 120, 255].map { RGB(red: $0, green: $0, blue: $0) } + [nil, red]
        #expect(text(greys, width: 3, .none) == [" .=", "@ :"])
    }

    @Test("Pixels with alpha below half are left out, and the others keep their colour")
    func alpha() {
        let pixels = unsafe PixelBuffer(width: 2, height: 1, format: .rgba) { memory in
            unsafe memory.copyBytes(from: [9, 8, 7, 127, 6, 5, 4, 128])
        }
        #expect(TerminalPixels(pixels).colors == [nil, RGB(red: 6, green: 5, blue: 4)])
    }
}
