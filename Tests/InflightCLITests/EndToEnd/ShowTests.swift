import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight show` on terminals, decoded back from what it wrote.
@Suite("inflight show", .timeLimit(.minutes(10)))
struct ShowTests {
    private let place = TemporaryDirectory()
    private let jpeg: [UInt8]
    private let png: [UInt8]

    init() throws {
        jpeg = try Pictures.make(.jpeg, 300, 200).array
        png = try Pictures.make(.png, 90, 120, isTransparent: true).array
        place.write("a.jpg", jpeg)
        place.write("b.png", png)
    }

    private let blocks = ["--mode", "blocks"]

    @Test("A picture is as large as the window, and each pixel is what the library decodes at that size")
    func whole() throws {
        let shown = ShownOnTerminal().run(["a.jpg"] + blocks, in: place)
        #expect(shown.status == 0)
        #expect(shown.screen.unknown.isEmpty && shown.screen.questions.isEmpty)
        // 19 lines, as one is left for the prompt: 38 pixels high, 57 wide.
        let expected = try ShownOnTerminal.decoded(jpeg, 57, 38)
        #expect(shown.screen.pixels(line: 0, width: 57, height: 38) == expected.colors)
        #expect(shown.screen.line == 19 && shown.screen.column == 0)
        #expect(shown.modes.before == shown.modes.after)
    }

    @Test("What is transparent shows the terminal's ground, or the colour that is asked for")
    func transparent() throws {
        let shown = ShownOnTerminal().run(["b.png", "--size", "20x10"] + blocks, in: place)
        let expected = try ShownOnTerminal.decoded(png, 15, 20)
        #expect(expected.colors.contains(nil))
        #expect(shown.screen.pixels(line: 0, width: 15, height: 20) == expected.colors)
        let filled = ShownOnTerminal().run(
            ["b.png", "--size", "20x10", "--background", "#00ff00"] + blocks, in: place)
        let pixels = try #require(filled.screen.pixels(line: 0, width: 15, height: 20))
        #expect(!pixels.contains(nil))
        // The left of it has next to no ink.
        let corner = try #require(pixels[0])
        #expect(corner.green > 240 && corner.red < 16)
    }

    @Test("In 256 colours each pixel is the nearest; without colours there are letters")
    func colours() throws {
        var terminal = ShownOnTerminal()
        terminal.environment["COLORTERM"] = nil
        let shown = terminal.run(["a.jpg"] + blocks, in: place)
        let expected = try ShownOnTerminal.decoded(jpeg, 57, 38).colors
            .map { $0.map { XtermPalette.color(XtermPalette.nearest($0)) } }
        #expect(shown.screen.pixels(line: 0, width: 57, height: 38) == expected)
        for environment in [["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "dumb"]] {
            terminal.environment = environment
            // Pixels are not asked for where the terminal can do nothing.
            let letters = terminal.run(["a.jpg"] + (environment["NO_COLOR"] == nil ? [] : blocks), in: place)
            #expect(letters.status == 0)
            #expect(!letters.bytes.contains(0x1B))
            #expect(letters.screen.text(18).count > 40)
        }
    }

    @Test("Several stand in a grid with names and sizes; what fails says so in its place, and below in full")
    func grid() throws {
        place.write("evil\u{1B}]0;x\u{7}.png", png)
        var terminal = ShownOnTerminal()
        (terminal.columns, terminal.rows) = (80, 40)
        let shown = terminal.run(["a.jpg", "b.png", "none.gif", "evil\u{1B}]0;x\u{7}.png"] + blocks, in: place)
        #expect(shown.status == 1)
        #expect(shown.screen.unknown.isEmpty)
        let layout = GridLayout(count: 4, window: TerminalWindow(columns: 80, rows: 40))
        #expect(layout.across == 2 && layout.columns == 39)
        let captions = (0..<40).filter { shown.screen.text($0).contains("a.jpg  300 × 200") }
        #expect(captions.count == 1)
        #expect(shown.screen.text(captions.first ?? 0).contains("b.png  90 × 120"))
        // The second picture, right of the first.
        let fit = PictureFit(width: 90, height: 120, in: layout, raster: .halfBlocks(nil), enlarges: false)
        let expected = try ShownOnTerminal.decoded(png, fit.width, fit.height)
        #expect(
            shown.screen.pixels(line: 0, column: layout.start(of: 1), width: fit.width, height: fit.height)
                == expected.colors)
        let all = (0..<40).map(shown.screen.text).joined(separator: "\n")
        #expect(all.contains("failed: cannotRead"))
        #expect(all.contains("none.gif cannot be read: No such file"))
        #expect(all.contains("evil\\u{1b}"))
    }

    @Test("URLs are shown as files are; a server's answer stands in the picture's place")
    func remote() throws {
        let server = try LoopbackServer()
        server.serve("/pic%20ture.jpg", .ok(Bytes(jpeg)))
        let shown = ShownOnTerminal().run(
            [server.url("/pic%20ture.jpg"), server.url("/none")] + blocks, in: place)
        #expect(shown.status == 1)
        let all = (0..<20).map(shown.screen.text).joined(separator: "\n")
        #expect(all.contains("pic ture.jpg  300 × 200"))
        #expect(all.contains("failed: badStatus 404"))
    }

    @Test(
        "No window is too small, and one of unknown size is taken for a usual one",
        arguments: [(1, 1), (1, 24), (80, 1), (2, 2), (0, 0), (3, 1000)] as [(UInt16, UInt16)])
    func windows(_ columns: UInt16, _ rows: UInt16) {
        for mode in ["blocks", "kitty"] {
            for names in [["a.jpg"], ["a.jpg", "b.png", "none"]] {
                var terminal = ShownOnTerminal()
                (terminal.columns, terminal.rows) = (columns, rows)
                let shown = terminal.run(
                    names + ["--mode", mode], in: place, answer: TerminalAnswer.once(TerminalAnswer.no))
                #expect(shown.status == (names.count == 1 ? 0 : 1))
                #expect(shown.modes.before == shown.modes.after)
            }
        }
    }

    @Test("Into a pipe or a file nothing is written, nothing asked for, and it is said what to use instead")
    func noTerminal() throws {
        let server = try LoopbackServer()
        let result = place.run("show", server.url("/a.jpg"))
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("inflight get URL > FILE") && result.errors.contains("-o DIR"))
        #expect(server.requestCount == 0)
    }
}
