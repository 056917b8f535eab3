/// Renders the completion script for fish from the option tables of the commands.
enum FishCompletions {
    static var script: String {
        """
        # Completions of inflight for fish.
        function __inflight_command_is
            set -l words (commandline -opc)
            test "$words[2]" = "$argv[1]"
        end
        function __inflight_is_first_argument_of
            set -l words (commandline -opc)
            test "$words[2]" = "$argv[1]"; and test (count $words) -eq 2
        end
        function __inflight_action_is
            set -l words (commandline -opc)
            contains -- "$words[3]" $argv
        end
        complete -c inflight -f
        \(general.map { "complete -c inflight -n '__inflight_command_is \"\"' \($0)" }.joined(separator: "\n"))
        \(Command.all.flatMap { command($0) }.joined(separator: "\n"))

        """
    }

    private static let general = ["help", "version"].map { "-l \($0) -d 'print the \($0)'" }

    private static func command<Options: CommandOptions>(_ command: Options.Type) -> [String] {
        let start = "complete -c inflight -n '__inflight_command_is \(command.name)'"
        let name =
            "complete -c inflight -n '__inflight_command_is \"\"' -a \(command.name) -d \(quoted(command.manual.summary))"
        let options = command.listedOptions.map { option in
            let name = option.name.hasPrefix("--") ? "-l \(option.name.dropFirst(2))" : "-s \(option.name.dropFirst())"
            let values =
                option.valueCount == 0 ? "" : option.suggestion == .none ? " -x" : " -r\(words(option.suggestion))"
            return "\(start) \(name)\(values) -d \(quoted(option.help ?? ""))"
        }
        return [name] + arguments(command.manual, of: command.name) + options + general.map { "\(start) \($0)" }
    }

    private static func arguments(_ manual: CommandManual, of name: String) -> [String] {
        guard manual.suggestion != .none else { return [] }
        let start = "complete -c inflight -n '__inflight_command_is \(name)"
        guard !manual.actions.isEmpty else { return ["\(start)'\(words(manual.suggestion))"] }
        let actions = manual.actions.joined(separator: " ")
        return [
            "complete -c inflight -n '__inflight_is_first_argument_of \(name)' -a '\(actions)'",
            "\(start); and __inflight_action_is \(actions)'\(words(.folder))",
            "\(start); and not __inflight_action_is \(actions)'\(words(manual.suggestion))",
        ]
    }

    private static func words(_ suggestion: Suggestion) -> String {
        suggestion.form(file: " -F", folder: " -f -a '(__fish_complete_directories)'") { " -f -a '\($0)'" }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing(#"\"#, with: #"\\"#).replacing("'", with: #"\'"#) + "'"
    }
}
