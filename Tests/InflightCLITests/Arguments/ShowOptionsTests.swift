import Inflight
import Testing

@testable import InflightCLI

/// The arguments of `inflight show`.
@Suite(.timeLimit(.minutes(10)))
struct ShowOptionsTests {
    private func parse(_ line: String, terminal: Bool = true) throws(UsageError) -> Command {
        try Command.parse(["show"] + line.split(separator: " ").map(String.init), standardOutputIsTerminal: terminal)
    }

    private func complaint(_ line: String, terminal: Bool = true) -> String? {
        do throws(UsageError) {
            _ = try parse(line, terminal: terminal)
            return nil
        } catch {
            return error.message
        }
    }

    @Test("Without options nothing is wanted but the pictures")
    func defaults() throws {
        var expected = ShowOptions()
        expected.places = ["a.jpg", "http://a/b"]
        #expect(try parse("a.jpg http://a/b") == .show(expected))
    }

    @Test("Everything that is said is understood")
    func all() throws {
        var expected = ShowOptions()
        expected.places = ["a"]
        expected.mode = .blocks
        expected.colors = .palette
        expected.size = OptionValue.Sides(width: 40, height: nil)
        expected.enlarges = true
        expected.pictureColumns = 3
        expected.loops = 2
        expected.background = [255, 128, 0]
        expected.page = 1
        expected.network.limits.totalTimeout = .seconds(5)
        expected.network.limits.maximumPixels = 9
        expected.network.drawsSVG = true
        let line =
            "a --mode blocks --colors 256 --size 40x --enlarge --columns 3 --loop 2 --background #ff8000 --page 2 "
            + "--timeout 5 --max-pixels 9 --svg"
        #expect(try parse(line) == .show(expected))
    }

    @Test(
        "Wrong use is answered by a line that names what is wrong",
        arguments: [
            ("", "at least one"), ("a --json", "inflight info"), ("a --size 3", "columns and lines"),
            ("a --size 0x3", "\"0x3\""), ("a --mode sixel", "auto, kitty or blocks"),
            ("a --colors many", "truecolor, 256 or none"), ("a --still --loop 2", "contradict"),
            ("a --mode kitty --colors 256", "half blocks"), ("a --loop 0", "--loop"), ("a --columns 0", "--columns"),
            ("a --background red", "--background"), ("a --still=1", "no value"), ("a --colums 3", "--columns"),
        ])
    func wrongUse(_ line: String, _ part: String) throws {
        let message = try #require(complaint(line))
        #expect(message.contains(part), "\(message)")
        #expect(!message.contains("\n"))
    }

    @Test("What is no terminal is refused, with what to use instead")
    func pipe() {
        #expect(complaint("a.jpg", terminal: false)?.contains("inflight get URL > FILE") == true)
    }
}
