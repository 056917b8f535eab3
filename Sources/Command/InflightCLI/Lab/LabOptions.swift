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
            let hint = nearest.map { "did you mean \($0)?" } ?? "inflight lab --list names them all."
            throw UsageError("There is no experiment \(argument.quoted); \(hint)")
        }
        experiments.append(argument)
    }

    func settle(standardOutputIsTerminal: Bool) throws(UsageError) {
        if list, !experiments.isEmpty || svg != nil {
            throw UsageError("--list runs nothing: give neither experiments nor --svg with it.")
        }
    }

    static let name = "lab"

    static var table: [OptionGroup<Self>] {
        [
            OptionGroup(
                "Options",
                [
                    Option("--list", "name the experiments, and run none", \.list),
                    Option("--svg FILE", "draw them into that file too") { options, value in
                        if options.svg != nil {
                            throw UsageError("--svg is given twice; all experiments go into one file.")
                        }
                        options.svg = try value.path("a file")
                    },
                    Option(
                        "--json",
                        """
                        a line of JSON on standard output for each, with all that was recorded, instead of the drawing
                        """, \.json),
                    // The command starts itself with this option for parts that are too dangerous for its own process.
                    Option("--child PART", nil) { $0.child = $1.text },
                ])
        ]
    }

    static let introduction = """
        Carries out experiments with queues, threads and loads, and draws what was
        recorded as timelines. What may crash or hang runs in a process of its own,
        which is ended.

        Usage: inflight lab [NAME…] [options]

        Without a name all of them run, in about half a minute.
        """

    static let notes = """
        Exit status: 0 all well, 1 an experiment could not be carried out, or something
        did not hold that has to, 64 usage error, 130 after Ctrl-C, 143 after SIGTERM.

        Examples:
          inflight lab --list
          inflight lab serial concurrent
          inflight lab cells --svg cells.svg
        """
}
