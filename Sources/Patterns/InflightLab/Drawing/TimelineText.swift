internal import InflightPrograms

/// A recording drawn with characters: a pure function of the recording, the width and the style.
///
/// `┣━━┫` is running, `├╌╌┤` blocked, `├──┤` in flight without a thread, `┣━━▸` unfinished; `▾` is an event, `✗` an
/// event that should not have happened.
struct TimelineText {
    var columns: Int
    var style: Style

    /// Non-breaking spaces keep each entry on one line.
    static let legend = [
        "┣━┫ running,", "├╌┤ blocked,", "├─┤ without a thread,", "▸ unfinished,", "▾ event,", "t2 on thread 2",
    ].map { $0.replacing(" ", with: "\u{A0}") }.joined(separator: " ")

    func lines(_ recording: Recording) -> [String] {
        guard !recording.spans.isEmpty || !recording.marks.isEmpty else { return [] }
        let longest = recording.tracks.map { TerminalText.width($0) }.max() ?? 0
        let gutter = min(longest, max(8, columns / 3))
        let tail = columns >= 56 ? 7 : 0
        let room = max(10, columns - gutter - 2 - tail)
        let canvas = Canvas(room: room, duration: max(1, recording.duration))
        var lines: [String] = []
        for (index, track) in recording.tracks.enumerated() {
            let marks = recording.marks.filter { $0.track == index }
            let rows = TimelineRows.rows(recording.spans.filter { $0.track == index })
            var drawn = canvas.markRows(marks).map { (cells: $0, tail: TimelineRows.commonLabel(marks) ?? "") }
            drawn += rows.map { (cells: canvas.spanRow($0), tail: TimelineRows.threads($0, most: 2)) }
            if drawn.isEmpty { drawn = [(Row(repeating: .empty, count: room), "")] }
            for (number, row) in drawn.enumerated() {
                let name = number == 0 ? TerminalText.shortened(track, to: gutter) : ""
                let head = name + String(repeating: " ", count: max(0, gutter + 2 - TerminalText.width(name)))
                let end =
                    tail == 0 || row.tail.isEmpty
                    ? "" : " " + style.dim(TerminalText.prefix(row.tail, columns: tail - 1))
                let line = head + paint(row.cells, isFull: !end.isEmpty) + end
                lines.append(line.trimmingEnd())
            }
        }
        lines.append(String(repeating: " ", count: gutter + 2) + style.dim(canvas.axis()))
        return lines
    }

    private func paint(_ cells: Row, isFull: Bool) -> String {
        var result = ""
        var run = ""
        var color = Cell.Color.none
        func flush() {
            switch color {
            case .none: result += run
            case .work: result += style.cyan(run)
            case .wait: result += style.yellow(run)
            case .trouble: result += style.red(run)
            }
            run = ""
        }
        let used = isFull ? cells.count : (cells.lastIndex { $0 != .empty }.map { $0 + 1 } ?? 0)
        for cell in cells[..<used] {
            if cell.color != color {
                flush()
                color = cell.color
            }
            run.append(cell.letter)
        }
        flush()
        return result
    }
}

struct Cell: Equatable {
    enum Color { case none, work, wait, trouble }

    var letter: Character
    var color = Color.none

    static let empty = Cell(letter: " ")
}

typealias Row = [Cell]

/// The part of a drawing between the names and the threads.
struct Canvas {
    var room: Int
    var duration: Int64

    func column(_ time: Int64) -> Int {
        min(room - 1, Int(Double(time) / Double(duration) * Double(room) + 0.5))
    }

    /// Returns a row of spans that do not overlap. Each span takes at least one cell, until all cells are taken.
    func spanRow(_ spans: [Recording.Span]) -> Row {
        var row = Row(repeating: .empty, count: room)
        var free = 0
        for span in spans {
            let start = min(max(free, column(span.start)), room - 1)
            let exact = Int(Double(span.end ?? duration) / Double(duration) * Double(room) + 0.5)
            let end = min(room, max(start + 1, exact))
            for (offset, cell) in cells(of: span, width: end - start).enumerated() { row[start + offset] = cell }
            free = end
        }
        return row
    }

    private func cells(of span: Recording.Span, width: Int) -> [Cell] {
        let (letters, color): ([Character], Cell.Color) =
            switch span.kind {
            case .work: (["┃", "┣", "━", "┫"], .work)
            case .wait: (["╎", "├", "╌", "┤"], .wait)
            case .away: (["│", "├", "─", "┤"], .none)
            }
        if width == 1 { return [Cell(letter: span.end == nil ? "▸" : letters[0], color: color)] }
        var cells = [Cell](repeating: Cell(letter: letters[2], color: color), count: width)
        cells[0].letter = letters[1]
        cells[width - 1].letter = span.end == nil ? "▸" : letters[3]
        let label = TerminalText.width(span.label) <= width - 2 ? span.label : ""
        // One column for each letter, because the labels are the program's own plain text.
        let start = width - 2 > label.count ? 2 : 1
        for (offset, letter) in label.enumerated() where start + offset < width - 1 {
            cells[start + offset] = Cell(letter: letter)
        }
        return cells
    }

    /// Returns marks with their labels, in as many rows as the labels need, three at most.
    func markRows(_ marks: [Recording.Mark]) -> [Row] {
        guard !marks.isEmpty else { return [] }
        var rows: [(cells: Row, free: Int)] = []
        let showsLabels = TimelineRows.commonLabel(marks) == nil
        for mark in marks.sorted(by: { $0.order < $1.order }) {
            let column = column(mark.time)
            let label = showsLabels ? mark.label : ""
            let color: Cell.Color = mark.isTrouble ? .trouble : .none
            let sign = Cell(letter: mark.isTrouble ? "✗" : "▾", color: color)
            // The label is to the right of its sign, or to the left if it fits only there.
            let isLeft = column + 1 + label.count > room && column - label.count >= 0
            let start = isLeft ? column - label.count : column
            let end = min(room, start + 1 + label.count)
            if let index = rows.firstIndex(where: { $0.free <= start }) ?? (rows.count < 3 ? rows.count : nil) {
                if index == rows.count { rows.append((Row(repeating: .empty, count: room), 0)) }
                var cells = label.map { Cell(letter: $0, color: color) }
                cells.insert(sign, at: isLeft ? cells.count : 0)
                for (offset, cell) in cells.enumerated() where start + offset < room {
                    rows[index].cells[start + offset] = cell
                }
                rows[index].free = end + (label.isEmpty ? 0 : 1)
            } else if rows[0].cells[column] == .empty {
                rows[0].cells[column] = sign
            }
        }
        return rows.map(\.cells)
    }

    /// Returns the numbers at their positions, and the unit after the last one that fits.
    func axis() -> String {
        var text = ""
        for tick in TimelineRows.ticks(duration, most: max(2, room / 9)) {
            let start = max(column(tick.time), text.isEmpty ? 0 : text.count + 1)
            if start + tick.text.count + 3 > room, !text.isEmpty { break }
            text += String(repeating: " ", count: start - text.count) + tick.text
        }
        return text + " ms"
    }
}
