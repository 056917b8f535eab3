import Glibc
import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Queries for graphics support, with terminals that reply yes, no, late or not at all.
@Suite("inflight show: graphics query", .timeLimit(.minutes(10)))
struct ShowPixelsTests {
    private let place = TemporaryDirectory()
    private let jpeg: [UInt8]
    private let png: [UInt8]

    init() throws {
        jpeg = try TestImages.make(.jpeg, 300, 200).array
        png = try TestImages.make(.png, 90, 120, isTransparent: true).array
        place.write("a.jpg", jpeg)
        place.write("b.png", png)
    }

    private func pixels(_ bytes: [UInt8], _ width: Int? = nil, _ height: Int? = nil) throws -> PixelBuffer {
        var options = DecodeOptions()
        if let width, let height { options.resize = Resize(width: width, height: height, fit: .exact) }
        return try TestImages.codecs.decode(Bytes(bytes), options: options, cancellation: CancellationFlag()).0
    }

    @Test("A terminal that confirms graphics gets the pixels at the size of its window")
    func yes() throws {
        var terminal = TerminalSession()
        terminal.cell = (4, 9)
        let shown = terminal.run(["a.jpg"], in: place, answer: TerminalReply.once(TerminalReply.yes))
        #expect(shown.status == 0)
        #expect(shown.screen.questions == ["graphics", "c"])
        #expect(shown.screen.unknown.isEmpty)
        let picture = try #require(shown.screen.pictures.first)
        // 240 × 171 pixels of the window are free.
        let expected = try pixels(jpeg, 240, 160)
        let sent = try pixels(picture.payload)
        #expect(sent.width == 240 && sent.height == 160 && sent.bytes == expected.bytes)
        #expect(picture.keys["c"] == nil && picture.keys["i"] == nil)
        #expect(picture.line == 0 && picture.column == 0)
        #expect(shown.screen.line == 18 && shown.screen.column == 0)
        #expect(shown.modes.before == shown.modes.after)
    }

    @Test("A terminal that reports only its identity gets half blocks")
    func no() throws {
        let shown = TerminalSession().run(["a.jpg"], in: place, answer: TerminalReply.once(TerminalReply.no))
        #expect(shown.status == 0 && shown.screen.pictures.isEmpty)
        #expect(
            shown.screen.pixels(line: 0, width: 57, height: 38)
                == (try TerminalSession.decoded(jpeg, 57, 38)).colors)
        #expect(shown.modes.before == shown.modes.after)
    }

    @Test("A terminal that never replies gets half blocks, and its modes are restored")
    func silent() throws {
        let shown = TerminalSession().run(["a.jpg"], in: place)
        #expect(shown.status == 0 && shown.screen.pictures.isEmpty)
        #expect(
            shown.screen.pixels(line: 0, width: 57, height: 38)
                == (try TerminalSession.decoded(jpeg, 57, 38)).colors)
        #expect(shown.modes.before == shown.modes.after)
    }

    /// Runs the command, then writes the input and the replies that it left unread into a file.
    private let keepsRest =
        "\"$@\"\nstatus=$?\nprintf END\nstty -icanon -echo min 0 time 0\ncat > rest\nexit $status"

    @Test("A late reply is neither left to the shell nor shown")
    func late() throws {
        var isSaid = false
        let shown = TerminalSession().run(["a.jpg"], in: place, prefix: keepsRest) { _, seen in
            // The image is drawn, so the command no longer waits for the reply.
            guard !isSaid, String(decoding: seen, as: UTF8.self).contains("▀") else { return nil }
            isSaid = true
            return TerminalReply.yes
        }
        #expect(isSaid && shown.status == 0 && shown.screen.pictures.isEmpty)
        #expect(place.read("rest") == [])
        #expect(!String(decoding: shown.bytes, as: UTF8.self).contains("^[_G"))
    }

    @Test("Neither tmux nor screen is queried", arguments: [["TMUX": "/tmp/t,1,0"], ["TERM": "screen-256color"]])
    func multiplexers(_ environment: [String: String]) {
        var terminal = TerminalSession()
        terminal.environment.merge(environment) { $1 }
        let shown = terminal.run(["a.jpg"], in: place)
        #expect(shown.status == 0 && shown.screen.questions.isEmpty)
    }

    @Test(
        "Ctrl-C and SIGTERM end the wait for a reply and restore the terminal",
        arguments: [SIGINT, SIGTERM])
    func interrupted(_ signal: Int32) {
        var isSent = false
        let shown = TerminalSession().run(["a.jpg"], in: place) { command, seen in
            guard !isSent, String(decoding: seen, as: UTF8.self).contains("\u{1B}[c") else { return nil }
            isSent = true
            if signal == SIGINT { return "\u{3}" }
            command.signal(signal)
            return nil
        }
        #expect(shown.status == 128 + signal)
        #expect(shown.modes.before == shown.modes.after)
    }
}
