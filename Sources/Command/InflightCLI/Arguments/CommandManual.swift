/// The texts of a command's help and man page, except for its options.
struct CommandManual: Sendable {
    /// What the command does, as a verb phrase of a few words.
    var summary: String
    /// The arguments as listed in the general help, such as `URL…`.
    var arguments: String
    /// The completion that a shell offers for an argument.
    var suggestion = Suggestion.none
    /// The words that the first argument may be instead. Behind one, the next argument is a folder.
    var actions: [String] = []
    /// The usage lines, without the command itself.
    var usage: [String]
    /// Paragraphs above the options.
    var introduction: String
    /// Paragraphs below the options. An indented line keeps its line break.
    var notes: String?
    /// The meaning of exit status 1.
    var failure = "something failed"
    /// The meaning of exit status 66, if the command can end with it.
    var noInput: String?
    /// The exit statuses that only this command has.
    var furtherStatuses: [(status: Int32, meaning: String)] = []
    /// The environment variables that the command reads; only in the man page.
    var environment: [(name: String, meaning: String)] = []
    /// The files that the command uses without being given their names; only in the man page.
    var files: [(name: String, meaning: String)] = []
    var examples: [String]

    /// Every exit status with its meaning.
    var statuses: [(status: Int32, meaning: String)] {
        let all: [(Int32, String?)] = [
            (0, "success"), (1, failure), (64, "usage error"), (66, noInput), (129, "after SIGHUP"),
            (130, "after Ctrl-C"), (141, "standard output was closed"), (143, "after SIGTERM"),
        ]
        let general = all.compactMap { status, meaning in meaning.map { (status: status, meaning: $0) } }
        return (general + furtherStatuses).sorted { $0.status < $1.status }
    }

    /// The usage in the help.
    func usageText(of call: String) -> String {
        "Usage: " + usage.map { "\(call) \($0)" }.joined(separator: "\n       ")
    }

    /// The end of the help.
    var closingText: String {
        let statuses = statuses.map { "\($0.status) \($0.meaning)" }.joined(separator: ", ")
        let wrapped = TerminalText.wrapped("Exit status: \(statuses).", columns: 79).joined(separator: "\n")
        let examples = "Examples:\n" + examples.map { "  \($0)" }.joined(separator: "\n")
        return [notes, wrapped, examples].compactMap(\.self).joined(separator: "\n\n") + "\n"
    }
}

extension CommandManual {
    static let cacheVariable = (
        name: "XDG_CACHE_HOME", meaning: "the base folder of caches: the default cache folder is its subfolder inflight"
    )
    static let cacheFolder = (
        name: "~/.cache/inflight", meaning: "the default cache folder, unless XDG_CACHE_HOME is set"
    )
    static let colorVariable = (name: "NO_COLOR", meaning: "if not empty, print no colours")
    /// The variables read by every command that loads images.
    static let loadingVariables = [
        (
            name: "http_proxy, https_proxy, all_proxy, no_proxy",
            meaning: "the proxies to use, and the hosts to connect to directly"
        ),
        (name: "INFLIGHT_DECODER", meaning: "the decoder program to use instead of the installed inflight-decoder"),
    ]
}
