import Inflight
import InflightConcurrency
import InflightCore

/// Reports to people on standard error: the progress line, failures, and, if requested, the steps of each URL.
///
/// Confined to the run's queue. Text from servers, lists and files is made safe first.
final class ConsoleReporter {
    private let stream: StandardStream
    private let isQuiet: Bool
    private let isVerbose: Bool
    private let reportsFailures: Bool
    let style: Style
    /// Whether there is a progress line.
    let showsProgress: Bool
    private var failures = FailureGroups()
    private var progress = ProgressLine()
    private var lineIsShown = false

    init(_ options: NetworkOptions, stream: StandardStream = .error) {
        self.stream = stream
        isQuiet = options.isQuiet
        isVerbose = options.isVerbose
        reportsFailures = !options.json || options.isVerbose
        style = Style.of(stream)
        showsProgress = !options.isQuiet && stream.canMoveCursor
    }

    func show(_ state: ProgressLine.State) {
        show { progress.text(state, columns: $0) }
    }

    /// Shows the text that `line` returns for a number of columns as the progress line.
    func show(line: (Int) -> String) {
        guard showsProgress else { return }
        // The last column stays free, because some terminals begin a new line there.
        let text = line(max(1, (stream.columns ?? 80) - 1))
        stream.say("\r\(text)\u{1B}[K")
        lineIsShown = true
    }

    /// Whether the story of each URL is printed.
    var describesLoads: Bool { isVerbose }

    /// Clears the progress line before other output.
    func clear() {
        guard lineIsShown else { return }
        stream.say("\r\u{1B}[K")
        lineIsShown = false
    }

    /// Reports a failure. Unless output is verbose, equal failures of one origin are shown a few times, then counted.
    func failed(_ url: String, _ error: LoadError) {
        guard reportsFailures else { return }
        if !isVerbose, let origin = (try? ResourceURL(url))?.origin,
            !failures.shows(Report.Digest.Failure(error), of: origin)
        {
            return
        }
        failed(shown: Self.shown(url), error)
    }

    /// - Parameter shown: The failed URL or path, safe to display.
    func failed(shown: String, _ error: LoadError) {
        guard reportsFailures else { return }
        let message = TerminalText.safe(error.commandMessage)
        say("\(style.red("failed")) \(shown): \(Report.Digest.Failure(error)): \(message)")
    }

    /// Reports how many failures were not shown.
    func reportHiddenFailures() {
        for (group, count) in failures.takeHidden() {
            say(
                "\(style.red("failed")) \(TerminalText.safe(group.origin)): \(group.failure): "
                    + "\(Quantity.grouped(count)) more (use --verbose to print all)")
        }
    }

    func warn(_ text: String) {
        say("inflight: \(TerminalText.safe(text))")
    }

    /// Prints a step in a URL's story.
    func tell(_ url: @autoclosure () -> String, _ text: @autoclosure () -> String) {
        guard isVerbose else { return }
        tell(shown: Self.shown(url()), text())
    }

    /// - Parameter shown: The URL or path, safe to display.
    func tell(shown: String, _ text: String) {
        guard isVerbose else { return }
        say("\(shown): \(TerminalText.safe(text))")
    }

    /// Prints a summary: on a terminal a table, and the number of failures of each class; elsewhere a line.
    func summarize(_ summary: Summary) {
        guard !isQuiet else { return }
        guard stream.isTerminal else { return say(summary.line) }
        clear()
        stream.say(summary.lines(columns: stream.columns ?? 80, style: style).joined(separator: "\n") + "\n")
    }

    /// Prints a line, which is safe to display.
    func say(_ text: String) {
        clear()
        stream.say(text + "\n")
    }

    /// Returns a URL, even an invalid one, without user name and password, shortened and made safe.
    static func shown(_ url: String) -> String {
        let plain: String
        do throws(LoadError) {
            plain = try ResourceURL(url).string
        } catch {
            plain = error.url ?? url
        }
        return shown(name: plain)
    }

    /// Returns a name, shortened and made safe.
    static func shown(name: String) -> String {
        TerminalText.shortened(TerminalText.safe(String(name.prefix(2000))), to: 300)
    }
}
