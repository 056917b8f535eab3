import Glibc
import InflightCore
import InflightTestSupport
import Testing

@testable import InflightCLI

/// Output on a terminal.
@Suite(.timeLimit(.minutes(10)))
final class TerminalTests: EndToEndSuite {
    override init() throws {
        try super.init()
        server.serve("/slow.jpg", .ok(jpeg).held("slow", after: 100))
    }

    @Test(
        "The progress line redraws itself, fits the terminal and gives way to the summary", arguments: [40, 80])
    func progress(_ columns: Int) throws {
        let command = RunningCommand(
            ["get", server.url("/good.jpg"), server.url("/slow.jpg"), "-o", "out"], in: place,
            errors: .terminal(columns: UInt16(columns)))
        let seen = command.readTerminal(until: "1 of 2")
        server.release("slow")
        let all = seen + command.readTerminal()
        #expect(command.wait().status == 0)
        for line in all.split(whereSeparator: { $0 == "\r" || $0 == "\n" || $0 == "\r\n" }) {
            // Without the control sequences that the command uses.
            let plain = line.replacing(/\u{1B}\[[0-9]*[mK]/, with: "")
            // Lines that are redrawn leave the last column free.
            let room = line.hasSuffix("\u{1B}[K") ? columns - 1 : columns
            #expect(plain.count <= room && !plain.contains("\u{1B}"), "\(line)")
        }
        #expect(seen.contains("\r") && seen.contains("\u{1B}[K"))
        #expect(all.contains("Done: 2 images"))
        #expect(all.contains("\u{1B}[1m"))
    }

    @Test("NO_COLOR disables colours, and a dumb terminal gets no progress line")
    func plain() throws {
        // Slow enough for a progress line to be drawn.
        server.serve("/late.jpg", .ok(jpeg).delayed(.milliseconds(500)))
        for (environment, hasProgress) in [(["NO_COLOR": "1"], true), (["TERM": "dumb"], false)] {
            let command = RunningCommand(
                ["get", server.url("/late.jpg"), server.url("/none"), "-o", "out"], in: place, environment: environment,
                errors: .terminal(columns: 80))
            let all = command.readTerminal()
            #expect(command.wait().status == 1)
            #expect(all.contains("1 of 2 images stored"))
            #expect(!all.contains("\u{1B}[1m") && !all.contains("\u{1B}[31m"))
            #expect(all.contains("\u{1B}[K") == hasProgress, "\(environment)")
        }
    }

    @Test("Ctrl-C on the keyboard interrupts get")
    func keyboard() throws {
        let command = RunningCommand(
            ["get", server.url("/slow.jpg"), "-o", "out"], in: place, errors: .terminal(columns: 80))
        try server.blockUntilHeld("slow")
        command.typeOnTerminal("\u{3}")
        let all = command.readTerminal()
        #expect(command.wait().status == 130)
        #expect(all.contains("Interrupted"))
        #expect(TemporaryDirectory.names(place.appending("out")).isEmpty)
    }

    @Test("get without -o on a terminal ends with 64 and sends no request")
    func noPicture() {
        let command = RunningCommand(
            ["get", server.url("/good.jpg")], in: place, errors: .terminal(columns: 80), prefix: "exec >&2")
        let all = command.readTerminal()
        #expect(command.wait().status == 64)
        #expect(all.contains("terminal"))
        #expect(server.requestCount == 0)
    }
}
