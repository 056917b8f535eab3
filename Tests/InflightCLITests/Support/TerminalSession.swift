import Glibc
import Inflight
import InflightConcurrency
import InflightCore
import InflightTestSupport

@testable import InflightCLI

/// Runs `inflight show` on a terminal of its own.
struct TerminalSession {
    var columns: UInt16 = 60
    var rows: UInt16 = 20
    var cell: (width: UInt16, height: UInt16) = (0, 0)
    /// Announces the colours, so that the command sends queries only in tests about queries.
    var environment = ["TERM": "xterm-256color", "COLORTERM": "truecolor"]

    struct Result {
        var bytes: [UInt8]
        var screen: ScreenModel
        var status: Int32
        /// The terminal's modes before and after.
        var modes: (before: [UInt32], after: [UInt32])
    }

    func command(
        _ arguments: [String], in place: TemporaryDirectory, prefix: String = ""
    ) -> RunningCommand {
        RunningCommand(
            ["show"] + arguments, in: place, environment: environment,
            errors: .terminal(columns: columns, rows: rows, cell: cell), prefix: "exec >&2 <&2\n" + prefix)
    }

    func screen(_ bytes: [UInt8]) -> ScreenModel {
        ScreenModel(bytes, columns: Int(columns), rows: Int(rows))
    }

    /// Runs the command until it ends.
    ///
    /// - Parameter answer: returns the terminal's reply or the user's input, given the output so far.
    func run(
        _ arguments: [String], in place: TemporaryDirectory, prefix: String = "",
        answer: (RunningCommand, [UInt8]) -> String? = { _, _ in nil }
    ) -> Result {
        let command = command(arguments, in: place, prefix: prefix)
        let bytes = command.converse { answer(command, $0) }
        let modes = (command.initialTerminalModes, command.terminalModes)
        return Result(bytes: bytes, screen: screen(bytes), status: command.wait().status, modes: modes)
    }

    /// An image as the library decodes it at a size.
    static func decoded(_ bytes: [UInt8], _ width: Int, _ height: Int) throws -> TerminalPixels {
        let options = DecodeOptions(resize: Resize(width: width, height: height, fit: .exact))
        return TerminalPixels(
            try TestImages.codecs.decode(Bytes(bytes), options: options, cancellation: CancellationFlag()).0)
    }
}

/// A terminal's reply to the query of ``KittyGraphics``.
enum TerminalReply {
    /// It supports graphics.
    static let yes = "\u{1B}_Gi=31;OK\u{1B}\\\u{1B}[?62;c"
    /// It reports its identity, but no graphics support.
    static let no = "\u{1B}[?62;c"

    /// Replies once, as soon as the query arrives.
    static func once(_ text: String) -> (RunningCommand, [UInt8]) -> String? {
        var isSaid = false
        return { _, seen in
            guard !isSaid, String(decoding: seen, as: UTF8.self).contains("\u{1B}[c") else { return nil }
            isSaid = true
            return text
        }
    }
}
