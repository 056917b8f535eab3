internal import InflightPrograms

/// Experiments and their results as one drawing: a pure function of the records.
///
/// A thread has a colour. Waiting is dashed, work without a thread is white, and "…" follows work that had not ended.
enum ExperimentSVG {
    static func text(_ results: [(Experiment, [Scene])]) -> String {
        var page = SVGPage()
        for (number, (experiment, scenes)) in results.enumerated() {
            if number > 0 { page.skip(36) }
            page.paragraph("\(experiment.name): \(experiment.title)", .title)
            page.paragraph(experiment.lookAt, .text)
            page.paragraph("On Linux: \(experiment.platform)", .remark)
            for scene in scenes { draw(scene, on: &page) }
        }
        return page.text(title: results.map(\.0.title).joined(separator: "; "))
    }

    private static func draw(_ scene: Scene, on page: inout SVGPage) {
        page.skip(16)
        page.paragraph(scene.title, .heading)
        page.skip(6)
        draw(scene.recording, on: &page)
        if let table = scene.table { draw(table, on: &page) }
        for finding in scene.findings { page.paragraph(finding, scene.hasFailed ? .trouble : .text) }
    }

    // MARK: Timelines

    private static let rowHeight = 20
    private static let trackGap = 4
    private static let gutter = 190
    /// Distinguishable in greyscale, too.
    private static let colors = [
        "#8ecae6", "#ffb703", "#95d5b2", "#f4978e", "#cdb4db", "#d9d9d9", "#e9c46a", "#a3b18a",
    ]

    private static func draw(_ recording: Recording, on page: inout SVGPage) {
        guard !recording.spans.isEmpty || !recording.marks.isEmpty else { return }
        let area = page.left + gutter..<page.right
        let scale = Double(area.count) / Double(max(1, recording.duration))
        func x(_ time: Int64) -> Int { area.lowerBound + Int(Double(time) * scale) }
        let tracks = recording.tracks.indices.map { index in
            let marks = recording.marks.filter { $0.track == index }
            return Track(
                name: recording.tracks[index], kind: TimelineRows.commonLabel(marks),
                marks: markRows(marks, in: area, x),
                spans: TimelineRows.rows(recording.spans.filter { $0.track == index }))
        }
        // Drawn first, to be in the background.
        let bottom = page.y + tracks.reduce(0) { $0 + $1.rows * rowHeight + trackGap }
        for tick in TimelineRows.ticks(recording.duration, most: 10) {
            page.line(x: x(tick.time), y: page.y, toX: x(tick.time), toY: bottom, "#e3e7eb")
            page.label(
                tick.time == 0 ? "0 ms" : tick.text, x: x(tick.time), y: bottom + 14, .cell,
                anchor: tick.time == 0 ? "start" : "middle")
        }
        for track in tracks {
            page.label(TerminalText.shortened(track.name, to: 26), x: page.left, y: page.y + 14, .text)
            if let kind = track.kind { page.label(kind, x: area.lowerBound - 10, y: page.y + 14, .cell, anchor: "end") }
            let top = page.y
            for row in track.marks {
                for (mark, label) in row { draw(mark, label, x(mark.time), area, on: &page) }
                page.skip(rowHeight)
            }
            for row in track.spans {
                for span in row { draw(span, x(span.start), x(span.end ?? recording.duration), on: &page) }
                page.skip(rowHeight)
            }
            page.skip(top + track.rows * rowHeight + trackGap - page.y)
            page.line(x: page.left, y: page.y - 3, toX: page.right, toY: page.y - 3, "#e3e7eb")
        }
        page.skip(24)
    }

    private struct Track {
        var name: String
        /// The label of all its marks, if they share one, which is then drawn only once.
        var kind: String?
        var marks: [[(Recording.Mark, String)]]
        var spans: [[Recording.Span]]

        var rows: Int { max(1, marks.count + spans.count) }
    }

    private static func draw(_ span: Recording.Span, _ start: Int, _ end: Int, on page: inout SVGPage) {
        let color = colors[(span.thread + colors.count - 1) % colors.count]
        let width = max(2, end - start)
        let paint =
            switch span.kind {
            case .work: "fill=\"\(color)\" stroke=\"#5b6570\""
            case .wait: "fill=\"#ffffff\" stroke=\"\(color)\" stroke-width=\"2\" stroke-dasharray=\"5 3\""
            case .away: "fill=\"#ffffff\" stroke=\"#5b6570\""
            }
        page.rectangle(x: start, y: page.y + 2, width: width, height: rowHeight - 4, "rx=\"3\" \(paint)")
        if span.end == nil { page.label("…", x: start + width + 3, y: page.y + 14, .cell) }
        let long = span.kind == .away ? span.label : "\(span.label) · t\(span.thread)"
        for label in [long, span.label] where label.count * 7 + 6 <= width {
            page.label(label, x: start + 4, y: page.y + 14, .cell)
            break
        }
    }

    private static func draw(
        _ mark: Recording.Mark, _ label: String, _ x: Int, _ area: Range<Int>, on page: inout SVGPage
    ) {
        page.triangle(x: x, y: page.y + 6, mark.isTrouble ? "#b3261e" : "#5b6570")
        if label.isEmpty { return }
        let isLeft = isLeft(label, x, area)
        page.label(
            label, x: isLeft ? x - 6 : x + 6, y: page.y + 14, mark.isTrouble ? .trouble : .cell,
            anchor: isLeft ? "end" : "start")
    }

    private static func isLeft(_ label: String, _ x: Int, _ area: Range<Int>) -> Bool {
        x + 8 + label.count * 7 > area.upperBound
    }

    /// Returns the marks in as many rows as their labels need.
    private static func markRows(
        _ marks: [Recording.Mark], in area: Range<Int>, _ x: (Int64) -> Int
    ) -> [[(Recording.Mark, String)]] {
        if TimelineRows.commonLabel(marks) != nil { return [marks.map { ($0, "") }] }
        var rows: [(marks: [(Recording.Mark, String)], free: Int)] = []
        for mark in marks.sorted(by: { $0.order < $1.order }) {
            let width = 10 + mark.label.count * 7
            let isLeft = isLeft(mark.label, x(mark.time), area)
            let start = isLeft ? x(mark.time) - width : x(mark.time) - 4
            let row = rows.firstIndex { $0.free <= start } ?? rows.count
            if row == rows.count { rows.append(([], 0)) }
            rows[row].marks.append((mark, mark.label))
            rows[row].free = isLeft ? x(mark.time) + 6 : x(mark.time) + width
        }
        return rows.map(\.marks)
    }

    // MARK: Tables

    private static func draw(_ table: Table, on page: inout SVGPage) {
        let widths = table.columns.indices.map { index in
            ([table.columns] + table.rows).map { TerminalText.width($0[index]) }.max() ?? 0
        }
        let scale = Double(page.right - page.left) / Double(max(90, widths.reduce(0) { $0 + $1 + 3 }))
        for (number, row) in ([table.columns] + table.rows).enumerated() {
            var x = Double(page.left)
            for (cell, width) in zip(row, widths) {
                page.label(cell, x: Int(x), y: page.y + 13, number == 0 ? .remark : .text)
                x += Double(width + 3) * scale
            }
            page.skip(18)
        }
        page.skip(8)
    }
}
