/// The options of `inflight completions`.
struct CompletionsOptions: CommandOptions {
    enum Shell: String, CaseIterable, Sendable {
        case bash, zsh, fish

        /// The completion script for the shell.
        var script: String {
            switch self {
            case .bash: BashCompletions.script
            case .zsh: ZshCompletions.script
            case .fish: FishCompletions.script
            }
        }
    }

    /// The shell; not `nil` once the options are settled.
    var shell: Shell?

    var command: Command { .completions(self) }

    private static let shells = Shell.allCases.map(\.rawValue)

    mutating func take(argument: String) throws(UsageError) {
        if shell != nil { throw UsageError("Unexpected argument \(argument.quoted). Specify one shell.") }
        shell = Shell(rawValue: argument)
        if shell == nil {
            throw UsageError("Unknown shell \(argument.quoted). Shells: \(Self.shells.joined(last: " and ")).")
        }
    }

    func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        if shell == nil { throw UsageError("No shell given. Specify \(Self.shells.joined(last: " or ")).") }
    }

    static let name = "completions"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Arguments", [.argument("SHELL", "the shell that is to run the script: \(shells.joined(last: " or "))")]
            )
        ]
    }

    static let manual = CommandManual(
        summary: "print completions for bash, zsh or fish",
        arguments: "SHELL",
        suggestion: .words(shells),
        usage: [shells.joined(separator: "|") + " [options]"],
        introduction: """
            Prints a script that completes commands, options and values in a shell. To
            install the scripts for all shells, use make install.
            """,
        failure: "standard output cannot be written",
        examples: [
            "source <(inflight completions bash)    # in ~/.bashrc",
            "source <(inflight completions zsh)     # in ~/.zshrc, after compinit",
            "inflight completions fish | source     # in ~/.config/fish/config.fish",
        ])
}
