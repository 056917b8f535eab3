/// Renders the completion script for bash from the option tables of the commands.
enum BashCompletions {
    static var script: String {
        """
        # Completions of inflight for bash.
        _inflight() {
            local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} arguments= actions= options= values=0 suggestions= ended= i
            ((COMP_CWORD == 1)) && command=inflight
            # bash splits --name=value into three words.
            [[ $cur == = ]] && cur=
            for ((i = 2; i < COMP_CWORD; i++)); do
                [[ ${COMP_WORDS[i]} == = ]] && continue
                if ((values > 0)); then
                    values=$((values - 1))
                    continue
                fi
                if [[ ${COMP_WORDS[i]} == -- ]]; then
                    ended=1
                    break
                fi
                case "$command ${COMP_WORDS[i]}" in
        \(Command.all.flatMap { values(of: $0) }.map { "            \($0)" }.joined(separator: "\n"))
                esac
            done
            if ((values == 0)); then
                case $command in
                    inflight) arguments='\(Command.names.joined(separator: " "))' options='--help --version' ;;
        \(Command.all.map { "            \(command($0))" }.joined(separator: "\n"))
                esac
                suggestions=$arguments
                if [[ -n $actions ]]; then
                    ((COMP_CWORD == 2)) && suggestions=:action
                    ((COMP_CWORD > 2)) && [[ " $actions " == *" ${COMP_WORDS[2]} "* ]] && suggestions=:folder
                fi
                [[ $cur == -* && -z $ended ]] && suggestions=$options
            fi
            # Without a reply, readline completes file names itself, and quotes them.
            case $suggestions in
                :file) compopt -o default ;;
                :folder) compopt -o dirnames ;;
                :action)
                    compopt -o filenames
                    mapfile -t COMPREPLY < <(compgen -W "$actions" -- "$cur"; compgen -f -- "$cur") ;;
                *) COMPREPLY=($(compgen -W "$suggestions" -- "$cur")) ;;
            esac
        }
        complete -F _inflight inflight

        """
    }

    /// Returns a case for each option that takes values.
    private static func values<Options: CommandOptions>(of command: Options.Type) -> [String] {
        command.listedOptions.filter { $0.valueCount > 0 }.map { option in
            "'\(command.name) \(option.name)') values=\(option.valueCount) suggestions=\(word(option.suggestion)) ;;"
        }
    }

    private static func command(_ command: any CommandOptions.Type) -> String {
        let options = command.optionNames.joined(separator: " ")
        let actions = command.manual.actions
        let words = actions.isEmpty ? "" : " actions='\(actions.joined(separator: " "))'"
        return "\(command.name)) arguments=\(word(command.manual.suggestion))\(words) options='\(options)' ;;"
    }

    private static func word(_ suggestion: Suggestion) -> String {
        suggestion.form(none: "''", file: ":file", folder: ":folder") { "'\($0)'" }
    }
}
