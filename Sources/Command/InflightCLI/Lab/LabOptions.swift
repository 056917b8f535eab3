/// The options of `inflight lab`.
struct LabOptions: CommandOptions {
    var invocation = LabInvocation()

    var command: Command { .lab(invocation) }

    mutating func take(argument: String) throws(UsageError) {
        let known = LabInvocation.names
        if !known.contains(argument) {
            let nearest = ArgumentReader.nearest(to: argument, among: known, tolerance: 2)
            let hint = nearest.map { "Did you mean \($0)?" } ?? "To list all experiments, use inflight lab --list."
            throw UsageError("Unknown experiment \(argument.quoted). \(hint)")
        }
        invocation.experiments.append(argument)
    }

    func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        if invocation.list, !invocation.experiments.isEmpty || invocation.svg != nil {
            throw UsageError("--list cannot be combined with experiments or --svg.")
        }
    }

    static let name = "lab"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Options",
                [
                    Option("--list", "list all experiments without running them", \.invocation.list),
                    Option("--svg FILE", "also draw all experiments into this SVG file", .file) {
                        $0.invocation.svg = try $1.path("a file")
                    },
                    Option(
                        "--json", "print one line of JSON with its record for each experiment, instead of drawing it",
                        \.invocation.json),
                ])
        ]
    }

    static let manual = CommandManual(
        summary: "run experiments with queues, drawn as timelines",
        arguments: "[NAME…]",
        suggestion: .words(LabInvocation.names),
        usage: ["[NAME…] [options]"],
        introduction: """
            Runs experiments with queues, threads and loads, and draws their records as
            timelines. Experiments that may crash or hang run in a child process. Without
            a name, all experiments run, in about 30 seconds.
            """,
        failure: "an experiment could not run, or did not behave as it must",
        furtherStatuses: [(ExitStatus.unavailable, "inflight-lab is missing, or of another version")],
        examples: [
            "inflight lab --list",
            "inflight lab serial concurrent",
            "inflight lab cells --svg cells.svg",
        ])
}
