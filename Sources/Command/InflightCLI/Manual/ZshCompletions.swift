/// Renders the completion script for zsh from the option tables of the commands.
enum ZshCompletions {
    static var script: String {
        """
        #compdef inflight
        # Completions of inflight for zsh.
        _inflight() {
            local curcontext=$curcontext context state state_descr line
            local -A opt_args
            local -a commands=(
        \(Command.all.map { "        \(quoted("\($0.name):\($0.manual.summary)"))" }.joined(separator: "\n"))
            )
            _arguments -C \(general.joined(separator: " ")) '1: :->command' '*:: :->arguments'
            case $state in
                command) _describe command commands ;;
                arguments)
                    case $words[1] in
        \(Command.all.map { command($0) }.joined(separator: "\n"))
                    esac ;;
            esac
        }
        # zsh loads this file as the body of a function on the first completion; `source` runs it as a script.
        if [[ $funcstack[1] == _inflight ]]; then _inflight "$@"; else compdef _inflight inflight; fi

        """
    }

    /// The options that exclude all other completions.
    private static let general = ["help", "version"].map { quoted("(- *)--\($0)[print the \($0)]") }

    private static func command<Options: CommandOptions>(_ command: Options.Type) -> String {
        let manual = command.manual
        let arguments = manual.arguments.split(separator: " ").first.map { $0.filter { $0 != "[" && $0 != "]" } } ?? ""
        let position = arguments.hasSuffix("…") ? "*" : "1"
        let rows =
            command.listedOptions.map(option) + general
            + first(manual, arguments) + [quoted("\(position):\(arguments):\(action(manual.suggestion))")]
        let indentation = String(repeating: " ", count: 16)
        return "\(indentation)\(command.name)) _arguments -S \\\n"
            + rows.map { "\(indentation)    \($0)" }.joined(separator: " \\\n") + " ;;"
    }

    /// Returns the first two arguments of a command with actions.
    private static func first(_ manual: CommandManual, _ arguments: String) -> [String] {
        guard !manual.actions.isEmpty else { return [] }
        let words = manual.actions.joined(separator: " ")
        let files = action(manual.suggestion)
        return [
            quoted("1:\(arguments):_alternative \"actions:action:(\(words))\" \"files:file:\(files)\""),
            quoted("2:\(arguments):{ if [[ \" \(words) \" == *\" $line[1] \"* ]]; then _files -/; else \(files); fi }"),
        ]
    }

    private static func option<Options>(_ option: Option<Options>) -> String {
        let sign = option.valueCount == 0 ? "" : option.name.hasPrefix("--") ? "=" : "+"
        let help = (option.help ?? "").replacing("[", with: #"\["#).replacing("]", with: #"\]"#)
        let values = option.placeholder.split(separator: " ", maxSplits: max(0, option.valueCount - 1))
        let actions = values.enumerated().map { index, value in
            ":\(value.replacing(":", with: #"\:"#)):\(action(index == 0 ? option.suggestion : .none))"
        }
        return quoted("\(option.isRepeatable ? "*" : "")\(option.name)\(sign)[\(help)]\(actions.joined())")
    }

    private static func action(_ suggestion: Suggestion) -> String {
        suggestion.form(none: " ", file: "_files", folder: "_files -/") { "(\($0))" }
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: #"'\''"#) + "'" }
}
