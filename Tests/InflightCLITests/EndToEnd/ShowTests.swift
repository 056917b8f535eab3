import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight show` on terminals, with its output decoded into pixels.
@Suite("inflight show", .timeLimit(.minutes(10)))
struct ShowTests {
    private let place = TemporaryDirectory()
    private let jpeg: [UInt8]
    private let png: [UInt8]

    init() throws {
        jpeg = try TestImages.make(.jpeg, 300, 200).array
        png = try TestImages.make(.png, 90, 120, isTransparent: true).array
        place.write("a.jpg", jpeg)
        place.write("b.png", png)
    }

    private let blocks = ["--mode", "blocks"]

    @Test("An image fills the window, and each pixel is what the library decodes at that size")
    func whole() throws {
        let shown = TerminalSession().run(["a.jpg"] + blocks, in: place)
        #expect(shown.status == 0)
        #expect(shown.screen.unknown.isEmpty && shown.screen.questions.isEmpty)
        // 19 lines, because one is left for the prompt: 38 pixels high, 57 wide.
        let expected = try TerminalSession.decoded(jpeg, 57, 38)
        #expect(shown.screen.pixels(line: 0, width: 57, height: 38) == expected.colors)
        #expect(shown.screen.line == 19 && shown.screen.column == 0)
        #expect(shown.modes.before == shown.modes.after)
    }

    @Test("Transparent pixels show the background of the terminal, or the --background colour")
    func transparent() throws {
        let shown = TerminalSession().run(["b.png", "--size", "20x10"] + blocks, in: place)
        let expected = try TerminalSession.decoded(png, 15, 20)
        #expect(expected.colors.contains(nil))
        #expect(shown.screen.pixels(line: 0, width: 15, height: 20) == expected.colors)
        let filled = TerminalSession().run(
            ["b.png", "--size", "20x10", "--background", "#00ff00"] + blocks, in: place)
        let pixels = try #require(filled.screen.pixels(line: 0, width: 15, height: 20))
        #expect(!pixels.contains(nil))
        // Its left edge is almost fully transparent.
        let corner = try #require(pixels[0])
        #expect(corner.green > 240 && corner.red < 16)
    }

    @Test("With 256 colours each pixel gets the nearest; without colours, letters are drawn")
    func colours() throws {
        var terminal = TerminalSession()
        terminal.environment["COLORTERM"] = nil
        let shown = terminal.run(["a.jpg"] + blocks, in: place)
        let expected = try TerminalSession.decoded(jpeg, 57, 38).colors
            .map { $0.map { XtermPalette.color(XtermPalette.nearest($0)) } }
        #expect(shown.screen.pixels(line: 0, width: 57, height: 38) == expected)
        for environment in [["TERM": "xterm", "NO_COLOR": "1"], ["TERM": "dumb"]] {
            terminal.environment = environment
            // A dumb terminal is not queried for pixels.
            let letters = terminal.run(["a.jpg"] + (environment["NO_COLOR"] == nil ? [] : blocks), in: place)
            #expect(letters.status == 0)
            #expect(!letters.bytes.contains(0x1B))
            #expect(letters.screen.text(18).count > 40)
        }
    }

    @Test("Several images form a captioned grid, and a failure shows in its cell and in full below")
    func grid() throws {
        place.write("evil\u{1B}]0;x\u{7}.png", png)
        var terminal = TerminalSession()
        (terminal.columns, terminal.rows) = (80, 40)
        let shown = terminal.run(["a.jpg", "b.png", "none.gif", "evil\u{1B}]0;x\u{7}.png"] + blocks, in: place)
        #expect(shown.status == 1)
        #expect(shown.screen.unknown.isEmpty)
        let layout = GridLayout(count: 4, window: TerminalWindow(columns: 80, rows: 40))
        #expect(layout.across == 2 && layout.columns == 39)
        let captions = (0..<40).filter { shown.screen.text($0).contains("a.jpg  300 × 200") }
        #expect(captions.count == 1)
        #expect(shown.screen.text(captions.first ?? 0).contains("b.png  90 × 120"))
        // The second image, to the right of the first.
        let fit = ImageFit(width: 90, height: 120, in: layout, raster: .halfBlocks(nil), enlarges: false)
        let expected = try TerminalSession.decoded(png, fit.width, fit.height)
        #expect(
            shown.screen.pixels(line: 0, column: layout.start(of: 1), width: fit.width, height: fit.height)
                == expected.colors)
        let all = (0..<40).map(shown.screen.text).joined(separator: "\n")
        #expect(all.contains("failed: cannotRead"))
        #expect(all.contains("none.gif: No such file"))
        #expect(all.contains("evil\\u{1b}"))
    }

    @Test("show loads URLs like files, and a bad status takes the place of its image")
    func remote() throws {
        let server = try LoopbackServer()
        server.serve("/pic%20ture.jpg", .ok(Bytes(jpeg)))
        let shown = TerminalSession().run(
            [server.url("/pic%20ture.jpg"), server.url("/none")] + blocks, in: place)
        #expect(shown.status == 1)
        let all = (0..<20).map(shown.screen.text).joined(separator: "\n")
        #expect(all.contains("pic ture.jpg  300 × 200"))
        #expect(all.contains("failed: http_404"))
    }

    @Test("A slow URL has a progress line, which makes way for the image")
    func progress() throws {
        let server = try LoopbackServer()
        server.serve("/slow.jpg", .ok(Bytes(jpeg)).held("slow", after: 100))
        let terminal = TerminalSession()
        let command = terminal.command([server.url("/slow.jpg")] + blocks, in: place)
        let before = command.readTerminal(until: "0 of 1")
        #expect(before.contains("0 of 1  100 B"), "\(before)")
        server.release("slow")
        let bytes = Array((before + command.readTerminal()).utf8)
        #expect(command.wait().status == 0)
        let screen = terminal.screen(bytes)
        #expect(screen.unknown.isEmpty, "\(screen.unknown)")
        #expect(screen.pixels(line: 0, width: 57, height: 38) == (try TerminalSession.decoded(jpeg, 57, 38).colors))
        #expect(!screen.text(0).contains("of") && screen.line == 19 && screen.column == 0)
        // Neither --quiet nor a fast image has one.
        let quiet = terminal.run([server.url("/slow.jpg"), "--quiet"] + blocks, in: place)
        #expect(!String(decoding: quiet.bytes, as: UTF8.self).contains("of 1"))
    }

    @Test(
        "show works in a window of any size, including an unknown one",
        arguments: [(1, 1), (1, 24), (80, 1), (2, 2), (0, 0), (3, 1000)] as [(UInt16, UInt16)])
    func windows(_ columns: UInt16, _ rows: UInt16) {
        for mode in ["blocks", "kitty"] {
            for names in [["a.jpg"], ["a.jpg", "b.png", "none"]] {
                var terminal = TerminalSession()
                (terminal.columns, terminal.rows) = (columns, rows)
                let shown = terminal.run(
                    names + ["--mode", mode], in: place, answer: TerminalReply.once(TerminalReply.no))
                #expect(shown.status == (names.count == 1 ? 0 : 1))
                #expect(shown.modes.before == shown.modes.after)
            }
        }
    }

    @Test("show refuses output that is not a terminal, sends no request and suggests get")
    func noTerminal() throws {
        let server = try LoopbackServer()
        let result = place.run("show", server.url("/a.jpg"))
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("inflight get URL > FILE") && result.errors.contains("-o DIR"))
        #expect(server.requestCount == 0)
    }
}
