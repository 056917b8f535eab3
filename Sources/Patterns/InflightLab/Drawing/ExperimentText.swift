internal import InflightPrograms

/// An experiment and its results as text for a terminal.
struct ExperimentText {
    var columns: Int
    var style: Style

    /// The meaning of the symbols in the drawings.
    var legend: [String] { TerminalText.wrapped(TimelineText.legend, columns: columns).map { style.dim($0) } }

    /// Returns the text above the drawings.
    func head(_ experiment: Experiment) -> [String] {
        [style.bold("\(experiment.name): \(experiment.title)")]
            + TerminalText.wrapped(experiment.lookAt, columns: columns)
            + TerminalText.wrapped("On Linux: \(experiment.platform)", columns: columns).map { style.dim($0) }
    }

    func lines(_ scene: Scene) -> [String] {
        var lines = [""] + TerminalText.wrapped(scene.title, columns: columns).map { style.bold($0) }
        lines += TimelineText(columns: columns, style: style).lines(scene.recording)
        if let table = scene.table { lines += TableText.lines(table, columns: columns, style: style) }
        for finding in scene.findings {
            let wrapped = TerminalText.wrapped(finding, columns: columns - 3)
            for (number, line) in wrapped.enumerated() {
                let text = (number == 0 ? "=> " : "   ") + line
                lines.append(scene.hasFailed ? style.red(text) : text)
            }
        }
        return lines
    }

    /// Returns one line for each experiment, or more if the terminal is narrow.
    static func list(_ experiments: [Experiment], columns: Int, style: Style) -> [String] {
        let longest = experiments.map(\.name.count).max() ?? 0
        if columns < longest + 24 {
            return experiments.flatMap { experiment in
                [style.bold(experiment.name)]
                    + TerminalText.wrapped(experiment.title, columns: columns - 2).map { "  " + $0 }
            }
        }
        return experiments.flatMap { experiment in
            let head = experiment.name + String(repeating: " ", count: longest + 2 - experiment.name.count)
            let text = TerminalText.wrapped(experiment.title, columns: columns - longest - 2)
            return text.enumerated().map { number, line in
                number == 0
                    ? style.bold(head) + line : String(repeating: " ", count: longest + 2) + line
            }
        }
    }
}
