import Inflight
import InflightConcurrency

/// Counts the results of lines, and writes the lines of `--json`.
///
/// Confined to the run's queue.
final class Reporter {
    var totals = RunTotals()
    let isJSON: Bool
    private let isOrdered: Bool
    private let console: ConsoleReporter
    private let output: StandardStream
    private let sharesTerminal: Bool
    private var lines = OrderedLines()
    private var unorderedCount = 0
    private var openBytes = 0
    /// The exit status to use because the output was lost; `nil` as long as it was not.
    private(set) var outputLoss: Int32?

    init(isJSON: Bool, isOrdered: Bool, console: ConsoleReporter, output: StandardStream = .output) {
        self.isJSON = isJSON
        self.isOrdered = isOrdered
        self.console = console
        self.output = output
        sharesTerminal = output.isTerminal
    }

    /// The number of lines requested and not written yet; without JSON, not concluded yet.
    var outstanding: Int { isJSON && isOrdered ? lines.count : unorderedCount }

    /// The number of bytes that those lines take in memory.
    var outstandingBytes: Int { openBytes + lines.waitingBytes }

    /// - Returns: The line's number.
    func opened(_ text: String) -> Int {
        openBytes += text.utf8.count
        guard isJSON && isOrdered else {
            unorderedCount += 1
            return 0
        }
        return lines.opened()
    }

    func closed(_ number: Int, _ text: String, _ digest: Report.Digest, from: String?, took: Duration) {
        openBytes -= text.utf8.count
        guard isJSON else {
            unorderedCount -= 1
            return
        }
        let milliseconds = Int(took.saturatedNanoseconds / 1_000_000)
        let line = digest.line(url: RedactedText.withoutUser(text), from: from, milliseconds: milliseconds)
        guard isOrdered else {
            unorderedCount -= 1
            return write([line])
        }
        write(lines.closed(number, line))
    }

    /// Writes the remaining lines after an early end, skipping those that never ended.
    func flush() {
        if isJSON && isOrdered { write(lines.remaining()) }
    }

    private func write(_ lines: [[UInt8]]) {
        guard outputLoss == nil, !lines.isEmpty else { return }
        if sharesTerminal { console.clear() }
        do throws(StandardStream.WriteError) {
            try output.write(Array(lines.joined()))
        } catch {
            outputLoss = CommandLineTool.ExitStatus.closedOutput
            if case .failed(let code) = error {
                outputLoss = CommandLineTool.ExitStatus.failure
                console.warn("Cannot write to standard output: \(SystemError(code: code).text).")
            }
        }
    }
}
