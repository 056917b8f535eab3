/// The options of `inflight man`.
struct ManOptions: CommandOptions {
    /// The name of the command; if `nil`, the page of the program itself.
    var name: String?

    var command: Command { .man(self) }

    mutating func take(argument: String) throws(UsageError) {
        if name != nil { throw UsageError("Unexpected argument \(argument.quoted). Specify one command.") }
        guard Command.named(argument) != nil || argument == BatchOutputPage.name else {
            throw UsageError("Unknown command \(argument.quoted). Commands: \(Command.names.joined(last: " and ")).")
        }
        name = argument
    }

    func validate(standardOutputIsTerminal: Bool) {}

    /// The source of the man page.
    var page: String {
        if name == BatchOutputPage.name { return BatchOutputPage.text }
        return name.flatMap(Command.named).map { ManPage.text(of: $0) } ?? ManPage.overview
    }

    static let name = "man"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Arguments",
                [
                    .argument(
                        "COMMAND",
                        "a command (default: print the page that lists the commands), or batch.5: the output of batch")
                ])
        ]
    }

    static var manual: CommandManual {
        CommandManual(
            summary: "print a man page",
            arguments: "[COMMAND]",
            suggestion: .words(Command.names + [BatchOutputPage.name]),
            usage: ["[COMMAND] [options]"],
            introduction: "Prints a man page as mdoc source. To install all pages, use make install.",
            failure: "standard output cannot be written",
            examples: ["inflight man get | man -l -", "inflight man > inflight.1"])
    }
}
