internal import InflightPrograms

/// An experiment and all its recordings, as one line.
enum ExperimentJSON {
    static func line(_ experiment: Experiment, _ scenes: [Scene]) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("experiment", experiment.name)
        writer.add("title", experiment.title)
        writer.add("scenes", scenes) { writer, scene in write(scene, to: &writer) }
        return writer.line
    }

    /// Returns the line for an experiment that could not be performed.
    static func line(_ experiment: Experiment, _ error: LabError) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("experiment", experiment.name)
        writer.add("title", experiment.title)
        writer.add("error", error.message)
        return writer.line
    }

    /// Returns the line for `--list`.
    static func line(_ experiment: Experiment) -> [UInt8] {
        var writer = JSONWriter()
        writer.add("experiment", experiment.name)
        writer.add("title", experiment.title)
        writer.add("lookAt", experiment.lookAt)
        writer.add("platform", experiment.platform)
        return writer.line
    }

    /// Writes a scene. Times are nanoseconds since the scene's first record; orders count its records.
    private static func write(_ scene: Scene, to writer: inout JSONWriter) {
        let recording = scene.recording
        writer.add("title", scene.title)
        writer.add("ok", !scene.hasFailed)
        writer.add("durationNs", recording.duration)
        writer.add("tracks", recording.tracks)
        writer.add("spans", recording.spans) { writer, span in
            writer.add("track", recording.tracks[span.track])
            writer.add("label", span.label)
            writer.add("kind", span.kind.rawValue)
            writer.add("startNs", span.start)
            writer.add("startOrder", span.startOrder)
            if let end = span.end, let order = span.endOrder {
                writer.add("endNs", end)
                writer.add("endOrder", order)
            }
            writer.add("thread", span.thread)
            writer.add("nice", span.nice)
        }
        writer.add("marks", recording.marks) { writer, mark in
            writer.add("track", recording.tracks[mark.track])
            writer.add("label", mark.label)
            writer.add("isTrouble", mark.isTrouble)
            writer.add("timeNs", mark.time)
            writer.add("order", mark.order)
            writer.add("thread", mark.thread)
        }
        writer.add("values") { writer in
            for (name, value) in recording.values.sorted(by: { $0.key < $1.key }) { writer.add(name, value) }
        }
        if let table = scene.table {
            writer.add("table") { writer in
                writer.add("columns", table.columns)
                writer.add("rows", rows: table.rows) { row, texts in
                    for text in texts { row.append(text) }
                }
            }
        }
        writer.add("findings", scene.findings)
    }
}
