import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// `inflight show` in real tmux, with the contents of its pane decoded into pixels.
@Suite("inflight show: tmux", .timeLimit(.minutes(10)))
struct ShowInTmuxTests {
    private let place = TemporaryDirectory()

    /// Runs a command line in a pane until `wait-for -S shown`, runs `then` with the server, and returns the contents.
    private func pane(
        _ line: String, columns: Int = 60, rows: Int = 20, environment: String = "COLORTERM=truecolor",
        then: String = ""
    ) -> (screen: ScreenModel, result: CommandResult) {
        place.write(
            "line.sh",
            "export \(environment) PATH=/usr/bin:/bin\nexport INFLIGHT='\(RunningCommand.binary)'\n\(line)\n"
                + "tmux wait-for -S shown\nexec cat\n")
        // The pane stays until its server ends. Each has its own server, because one that is ending may still listen.
        let script = """
            export LC_ALL=C.UTF-8
            command -v tmux > /dev/null || { echo 'no tmux: Scripts/deps.sh test installs it' >&2; exit 99; }
            t() { tmux -u -S "$PWD/socket-$$" -f /dev/null "$@"; }
            t new-session -d -x \(columns) -y \(rows) 'sh line.sh' || exit 98
            \(then)
            t wait-for shown
            t capture-pane -e -N -p
            t display-message -p '#{cursor_flag}' > cursor
            t kill-server
            exit 0
            """
        let result = place.run(["--version"], prefix: script)
        let lines = result.text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        return (ScreenModel(Array(lines.utf8), columns: columns, rows: rows), result)
    }

    @Test("An image in tmux has every pixel that the library decodes at that size, in 24-bit colour")
    func truecolor() throws {
        let jpeg = try TestImages.make(.jpeg, 300, 200).array
        place.write("a.jpg", jpeg)
        let (screen, result) = pane("\"$INFLIGHT\" show a.jpg; echo $? > status")
        #expect(result.status == 0, "\(result.errors)")
        #expect(place.read("status") == Array("0\n".utf8))
        #expect(
            screen.pixels(line: 0, width: 57, height: 38) == (try TerminalSession.decoded(jpeg, 57, 38)).colors)
    }

    @Test("A grid of transparent images in tmux has the nearest of 256 colours for each pixel")
    func palette() throws {
        let png = try TestImages.make(.png, 90, 120, isTransparent: true).array
        place.write("b.png", png)
        place.write("c.png", png)
        let (screen, result) = pane("\"$INFLIGHT\" show b.png c.png", environment: "COLORTERM=")
        #expect(result.status == 0, "\(result.errors)")
        let layout = GridLayout(count: 2, window: TerminalWindow(columns: 60, rows: 20))
        let fit = ImageFit(width: 90, height: 120, in: layout, raster: .halfBlocks(nil), enlarges: false)
        let expected = try TerminalSession.decoded(png, fit.width, fit.height).colors
            .map { $0.map { XtermPalette.color(XtermPalette.nearest($0)) } }
        for number in 0..<2 {
            #expect(
                screen.pixels(
                    line: 0, column: layout.start(of: number), width: fit.width, height: fit.height) == expected)
        }
        #expect(screen.text(fit.rows).contains("b.png  90 × 120"))
    }

    @Test("An animation in tmux ends with its last frame or by Ctrl-C, and the cursor returns")
    func animation() {
        place.write("twice.gif", TestImages.animation(8, 6, colors: [1, 2, 4], hundredths: 5, loops: 2).array)
        place.write("ever.gif", TestImages.animation(8, 6, colors: [1], hundredths: 5, loops: 0).array)
        place.write("blink.gif", TestImages.animation(8, 6, colors: [1, 1, 1], hundredths: 5, loops: 0).array)
        let blue = [RGB?](repeating: RGB(red: 0, green: 0, blue: 255), count: 48)
        let (screen, result) = pane("\"$INFLIGHT\" show twice.gif")
        #expect(result.status == 0, "\(result.errors)")
        #expect(screen.pixels(line: 0, width: 8, height: 6) == blue)
        #expect(place.read("cursor") == Array("1\n".utf8))
        // A hidden cursor means that the animation plays.
        let (ended, second) = pane(
            "trap : INT; \"$INFLIGHT\" show blink.gif; echo $? > status",
            then: """
                while [ "$(t display-message -p '#{cursor_flag}')" = 1 ]; do :; done
                t send-keys C-c
                """)
        #expect(second.status == 0, "\(second.errors)")
        #expect(place.read("status") == Array("130\n".utf8))
        #expect(place.read("cursor") == Array("1\n".utf8))
        let red = [RGB?](repeating: RGB(red: 255, green: 0, blue: 0), count: 48)
        #expect(ended.pixels(line: 0, width: 8, height: 6) == red)
    }
}
