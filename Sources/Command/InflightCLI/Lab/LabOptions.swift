import InflightLab

/// The options of `inflight lab`.
struct LabOptions: CommandOptions {
    /// The experiments, in command-line order; if empty, all of them.
    var experiments: [String] = []
    var list = false
    var json = false
    /// The file for the drawing as SVG.
    var svg: String?
    /// The part of an experiment that this process runs, and its arguments.
    var child: String?
    var childArguments: [String] = []

    var command: Command { child.map { .labChild($0, childArguments) } ?? .lab(self) }

    mutating func take(argument: String) throws(UsageError) {
        guard child == nil else { return childArguments.append(argument) }
        let known = Experiment.all.map(\.name)
        if !known.contains(argument) {
            let nearest = ArgumentReader.nearest(to: argument, among: known, tolerance: 2)
            let hint = nearest.map { "Did you mean \($0)?" } ?? "To list all experiments, use inflight lab --list."
            throw UsageError("Unknown experiment \(argument.quoted). \(hint)")
        }
        experiments.append(argument)
    }

    func validate(standardOutputIsTerminal: Bool) throws(UsageError) {
        if list, !experiments.isEmpty || svg != nil {
            throw UsageError("--list cannot be combined with experiments or --svg.")
        }
    }

    static let name = "lab"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Options",
                [
                    Option("--list", "list all experiments without running them", \.list),
                    Option("--svg FILE", "also draw all experiments into this SVG file", .file) {
                        $0.svg = try $1.path("a file")
                    },
                    Option(
                        "--json", "print one line of JSON with its record for each experiment, instead of drawing it",
                        \.json),
                    // The command starts itself with this option for parts that are too dangerous for its own process.
                    Option("--child PART", nil) { $0.child = $1.text },
                ])
        ]
    }

    static let manual = CommandManual(
        summary: "run experiments with queues, drawn as timelines",
        arguments: "[NAME…]",
        suggestion: .words(Experiment.all.map(\.name)),
        usage: ["[NAME…] [options]"],
        introduction: """
            Runs experiments with queues, threads and loads, and draws their records as
            timelines. Experiments that may crash or hang run in a child process. Without
            a name, all experiments run, in about 30 seconds.
            """,
        failure: "an experiment could not run, or did not behave as it must",
        examples: [
            "inflight lab --list",
            "inflight lab serial concurrent",
            "inflight lab cells --svg cells.svg",
        ])
}
