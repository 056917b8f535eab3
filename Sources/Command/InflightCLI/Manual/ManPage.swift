/// Renders man pages in mdoc, in ASCII, from the manuals and option tables of the commands.
enum ManPage {
    /// The page of the program, which lists the commands.
    static var overview: String {
        let commands = Command.all.map { (".It Xr \(title(of: $0)) 1", $0.manual.summary) }
        return page("inflight", call: "inflight", Command.manual, [".Sh COMMANDS"] + list(commands))
    }

    /// Returns the page of a command.
    static func text<Options: CommandOptions>(of command: Options.Type) -> String {
        let groups = command.table
        var options = [".Sh OPTIONS"]
        for (index, group) in groups.enumerated() {
            if groups.count > 1 { options.append(".Ss \(escaped(group.title))") }
            var rows = group.options.compactMap { row in row.help.map { (".It \(macros(of: row))", $0) } }
            if index == groups.count - 1 {
                rows.append((#".It Fl \-help , Fl \-version"#, "print the help, or the version"))
            }
            options += list(rows)
        }
        return page(title(of: command), call: "inflight \(command.name)", command.manual, options)
    }

    private static func title(of command: any CommandOptions.Type) -> String { "inflight-\(command.name)" }

    private static func page(_ title: String, call: String, _ manual: CommandManual, _ middle: [String]) -> String {
        var lines = [".Dd \(Version.date)", ".Dt \(title.uppercased()) 1", ".Os \"\(Version.text)\""]
        lines += [".Sh NAME", ".Nm \(title)", ".Nd \(escaped(manual.summary))", ".Sh SYNOPSIS"]
        lines += manual.usage.flatMap { [".Nm \(call)"] + synopsis($0) }
        lines += [".Sh DESCRIPTION"] + paragraphs(manual.introduction) + middle
        if let notes = manual.notes { lines += [".Sh NOTES"] + paragraphs(notes) }
        for (heading, macro, rows) in [("ENVIRONMENT", "Ev", manual.environment), ("FILES", "Pa", manual.files)]
        where !rows.isEmpty {
            lines += [".Sh \(heading)"] + list(rows.map { (".It \(macro) \(escaped($0.name))", $0.meaning) })
        }
        lines += [".Sh EXIT STATUS"] + list(manual.statuses.map { (".It \($0.status)", $0.meaning) })
        lines += [".Sh EXAMPLES"] + literal(manual.examples)
        var others = (["inflight"] + Command.all.map { self.title(of: $0) }).filter { $0 != title }.sorted().map {
            "\($0) 1"
        }
        if title == self.title(of: BatchOptions.self) { others.append("\(title) 5") }
        lines += [".Sh SEE ALSO"] + others.dropLast().map { ".Xr \($0) ," } + [".Xr \(others[others.count - 1])"]
        return lines.joined(separator: "\n") + "\n"
    }

    static func list(_ rows: [(item: String, text: String)]) -> [String] {
        [".Bl -tag -width Ds"] + rows.flatMap { [$0.item] + filled($0.text) } + [".El"]
    }

    /// Returns the macros for an option's name and values, or for an argument.
    private static func macros<Options>(of option: Option<Options>) -> String {
        macro(option.name) + (option.placeholder.isEmpty ? "" : " Ar \(escaped(option.placeholder))")
    }

    /// Returns the macro for one word of a usage. Words in capitals stand for values.
    private static func macro(_ word: String) -> String {
        if word == ">" { return "No >" }
        if word.hasPrefix("-") { return "Fl \(escaped(word.dropFirst()))" }
        if word != "options", word.first?.isLowercase == true {
            return "Cm \(escaped(word.replacing("|", with: " | ")))"
        }
        return "Ar \(escaped(word.replacing("…", with: " ...")))"
    }

    /// Returns the lines of a usage, such as `[-i FILE] -o DIR [options]`.
    private static func synopsis(_ usage: String) -> [String] {
        var lines: [String] = []
        var takesValue = false
        for part in usage.matches(of: /\[[^\]]*\]|\S+/).map(\.output) {
            let words = part.filter { $0 != "[" && $0 != "]" }.split(separator: " ").map { macro(String($0)) }
            let text = words.joined(separator: " ")
            if takesValue, text.hasPrefix("Ar"), !part.hasPrefix("[") {
                lines[lines.count - 1] += " \(text)"
            } else {
                lines.append(part.hasPrefix("[") ? ".Op \(text)" : ".\(text)")
            }
            takesValue = text.hasPrefix("Fl") || text.hasPrefix("No")
        }
        return lines
    }

    /// Returns text whose paragraphs are separated by empty lines, and whose indented lines keep their breaks.
    static func paragraphs(_ text: String) -> [String] {
        var lines: [String] = []
        for paragraph in text.split(separator: "\n\n") {
            if !lines.isEmpty { lines.append(".Pp") }
            let rows = paragraph.split(separator: "\n")
            lines += filled(rows.filter { !$0.hasPrefix(" ") }.joined(separator: " "))
            let indented = rows.filter { $0.hasPrefix(" ") }.map { $0.dropFirst(2) }
            if !indented.isEmpty { lines += literal(indented) }
        }
        return lines
    }

    static func literal(_ rows: [some StringProtocol]) -> [String] {
        [".Bd -literal"] + rows.map { escaped($0) } + [".Ed"]
    }

    /// Returns lines of running text. Each sentence begins a line, so that formatters space sentences correctly.
    private static func filled(_ text: String) -> [String] {
        text.replacing(/\. (?=[A-Z])/, with: ".\n").split(separator: "\n").flatMap { sentence in
            let words = sentence.split(separator: " ").map { word in
                let name = word.prefixMatch(of: /--[a-z-]+/)?.output ?? ""
                return (name.isEmpty ? "" : #"\fB\#(escaped(name))\fR"#) + escaped(word.dropFirst(name.count))
            }
            return TerminalText.wrapped(words.joined(separator: " "), columns: 79)
        }
    }

    /// Returns the text without characters that roff would interpret or replace by typographic ones.
    static func escaped(_ text: some StringProtocol) -> String {
        var result = text.hasPrefix(".") ? #"\&"# : ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += #"\e"#
            case "-": result += #"\-"#
            case "'": result += #"\(aq"#
            case "\"": result += #"\(dq"#
            case "`": result += #"\(ga"#
            case "^": result += #"\(ha"#
            case "~": result += #"\(ti"#
            case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
            default:
                let code = String(scalar.value, radix: 16, uppercase: true)
                result += #"\[u\#(String(repeating: "0", count: max(0, 4 - code.count)))\#(code)]"#
            }
        }
        return result
    }
}
