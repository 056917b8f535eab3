internal import InflightFiles
internal import InflightPrograms

/// One run of `inflight lab`: performs experiments one after the other, and shows their recordings.
struct LabCommand: Sendable {
    let invocation: LabInvocation
    var stage = Stage()
    /// The file of `--svg`, opened before anything else.
    var drawing: AtomicFile?

    /// Runs the requested experiments. Blocks the calling thread, which must not be the main one, because the main
    /// thread has to serve the main queue.
    ///
    /// - Returns: The exit status.
    func run() -> Int32 {
        var status = ExitStatus.success
        var results: [(Experiment, [Scene])] = []
        let chosen =
            invocation.experiments.isEmpty ? Experiment.all : invocation.experiments.compactMap(Experiment.named)
        do throws(StandardStream.WriteError) {
            if !invocation.json { try say(Self.text.legend + [""]) }
            for (number, experiment) in chosen.enumerated() {
                if number > 0, !invocation.json { try say(["", ""]) }
                guard let scenes = try perform(experiment) else {
                    status = ExitStatus.failure
                    continue
                }
                if scenes.contains(where: \.hasFailed) { status = ExitStatus.failure }
                results.append((experiment, scenes))
            }
        } catch {
            drawing?.abandon()
            return error.reported()
        }
        return draw(results) ? status : ExitStatus.failure
    }

    /// - Returns: `nil` if the experiment could not be performed; the reason has been reported.
    private func perform(_ experiment: Experiment) throws(StandardStream.WriteError) -> [Scene]? {
        let text = Self.text
        if !invocation.json { try say(text.head(experiment)) }
        let outcome = Result { () throws(LabError) in try experiment.perform(stage) }
        switch outcome {
        case .success(let scenes) where invocation.json:
            try StandardStream.output.write(ExperimentJSON.line(experiment, scenes))
        case .success(let scenes):
            for scene in scenes { try say(text.lines(scene)) }
        case .failure(let error):
            StandardStream.error.say("inflight: \(experiment.name): \(TerminalText.safe(error.message))\n")
            if invocation.json { try StandardStream.output.write(ExperimentJSON.line(experiment, error)) }
        }
        return try? outcome.get()
    }

    private func draw(_ results: [(Experiment, [Scene])]) -> Bool {
        guard let drawing, let path = invocation.svg else { return true }
        do throws(SystemError) {
            try drawing.finish(Array(ExperimentSVG.text(results).utf8))
            return true
        } catch {
            StandardStream.error.say("inflight: \(Self.cannotWrite(path, error))\n")
            return false
        }
    }

    private func say(_ lines: [String]) throws(StandardStream.WriteError) {
        try StandardStream.output.write(Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    /// The renderer for the terminal's current width; for other outputs, for the width in `COLUMNS`.
    private static var text: ExperimentText {
        ExperimentText(columns: columns, style: Style.of(.output))
    }

    private static var columns: Int { StandardStream.output.maximumLineWidth ?? 80 }

    static func list(_ invocation: LabInvocation) -> [UInt8] {
        if invocation.json { return Experiment.all.flatMap { ExperimentJSON.line($0) } }
        let lines = ExperimentText.list(Experiment.all, columns: columns, style: Style.of(.output))
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    static func cannotWrite(_ path: String, _ error: SystemError) -> String {
        "Cannot write the drawing \"\(TerminalText.safe(path))\": \(error.text). Choose another file with --svg FILE."
    }
}
