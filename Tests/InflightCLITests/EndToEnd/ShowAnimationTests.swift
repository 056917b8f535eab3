import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Animations on a terminal.
@Suite("inflight show: animations", .timeLimit(.minutes(10)))
struct ShowAnimationTests {
    private let place = TemporaryDirectory()
    private let red = RGB(red: 255, green: 0, blue: 0)
    private let green = RGB(red: 0, green: 255, blue: 0)
    private let blue = RGB(red: 0, green: 0, blue: 255)

    init() throws {
        place.write("thrice.gif", TestImages.animation(8, 6, colors: [1, 2, 4], hundredths: 5, loops: 1).array)
        place.write("ever.gif", TestImages.animation(8, 6, colors: [1, 2], hundredths: 5, loops: 0).array)
        place.write("still.png", try TestImages.make(.png, 8, 6).array)
    }

    private func count(_ part: String, in bytes: [UInt8]) -> Int {
        String(decoding: bytes, as: UTF8.self).ranges(of: part).count
    }

    @Test("An animation plays in place, its last frame stays, and the cursor returns")
    func plays() {
        for (loops, times) in [([], 1), (["--loop", "3"], 3)] as [([String], Int)] {
            let shown = TerminalSession().run(
                ["thrice.gif", "--mode", "blocks"] + loops, in: place)
            #expect(shown.status == 0)
            #expect(shown.screen.unknown.isEmpty)
            #expect(
                shown.screen.pixels(line: 0, width: 8, height: 6)
                    == [RGB?](repeating: blue, count: 48))
            #expect(shown.screen.cursorIsVisible && shown.screen.line == 3 && shown.screen.column == 0)
            #expect(count("\u{1B}[?25l", in: shown.bytes) == 1)
            // A slow machine drops frames, but never the very last one, and shows none twice.
            #expect((1...times).contains(count("48;2;0;0;255m", in: shown.bytes) / 3))
            #expect(shown.modes.before == shown.modes.after)
        }
    }

    @Test("--still shows only the first frame")
    func still() {
        let shown = TerminalSession().run(["ever.gif", "--still", "--mode", "blocks"], in: place)
        #expect(shown.status == 0)
        #expect(shown.screen.pixels(line: 0, width: 8, height: 6) == [RGB?](repeating: red, count: 48))
        #expect(count("\u{1B}[?25l", in: shown.bytes) == 0)
    }

    @Test(
        "Ctrl-C and SIGTERM end an endless animation and restore the terminal", arguments: [SIGINT, SIGTERM])
    func interrupted(_ signal: Int32) {
        var isSent = false
        let shown = TerminalSession().run(["ever.gif", "still.png", "--mode", "blocks"], in: place) { command, seen in
            let text = String(decoding: seen, as: UTF8.self)
            guard !isSent, text.contains("\u{1B}[?25l"), text.contains("48;2;0;255;0m") else { return nil }
            isSent = true
            if signal == SIGINT { return "\u{3}" }
            command.signal(signal)
            return nil
        }
        #expect(shown.status == 128 + signal)
        #expect(shown.screen.cursorIsVisible)
        #expect(String(decoding: shown.bytes.suffix(10), as: UTF8.self).hasSuffix("\u{1B}[0m\u{1B}[?25h"))
        #expect(shown.modes.before == shown.modes.after)
        #expect(!String(decoding: shown.bytes, as: UTF8.self).contains("^C"))
        let layout = GridLayout(count: 2, window: TerminalWindow(columns: 60, rows: 20))
        let expected = TerminalPixels(TestImages.pixels(8, 6))
        #expect(
            shown.screen.pixels(line: 0, column: layout.start(of: 1), width: 8, height: 6) == expected.colors)
    }

    @Test("As pixels, each frame replaces the previous one, which is deleted")
    func pixels() throws {
        var terminal = TerminalSession()
        terminal.cell = (4, 8)
        let shown = terminal.run(["thrice.gif", "--mode", "kitty"], in: place)
        #expect(shown.status == 0 && shown.screen.unknown.isEmpty)
        let last = try #require(shown.screen.pictures.first)
        #expect(shown.screen.pictures.count == 1 && !shown.screen.deleted.isEmpty)
        let pixels = try TestImages.decode(last.payload).0
        #expect(TerminalPixels(pixels).colors == [RGB?](repeating: blue, count: 48))
        #expect(last.line == 0 && last.column == 0)
        #expect(shown.screen.line == 1)
    }

    @Test("A resized window restarts the animation at the new size")
    func resized() {
        place.write("large.gif", TestImages.animation(60, 60, colors: [1, 2], hundredths: 5, loops: 0).array)
        var step = 0
        let terminal = TerminalSession()
        let command = terminal.command(["large.gif", "--mode", "blocks"], in: place)
        let bytes = command.converse { seen in
            let text = String(decoding: seen, as: UTF8.self)
            if step == 0, text.contains("\u{1B}[?25l") {
                step = 1
                command.resizeTerminal(columns: 20, rows: 11)
            } else if step == 1, text.ranges(of: "\u{1B}[?25l").count == 2 {
                step = 2
                return "\u{3}"
            }
            return nil
        }
        #expect(command.wait().status == 130)
        let screen = ScreenModel(bytes, columns: 60, rows: 20)
        #expect(screen.clearings == 1 && screen.unknown.isEmpty && screen.cursorIsVisible)
        // The output since the resize: ten lines, one kept for the prompt.
        #expect(screen.line == 10)
        let pixels = screen.pixels(line: 0, width: 20, height: 20) ?? []
        #expect(Set(pixels).isSubset(of: [red, green]) && !pixels.isEmpty)
        #expect(screen.pixels(line: 0, column: 20, width: 40, height: 20) == [RGB?](repeating: nil, count: 800))
    }
}
