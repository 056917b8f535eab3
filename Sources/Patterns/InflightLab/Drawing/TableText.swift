internal import InflightPrograms

/// A table as text: in columns if they fit, otherwise one cell after the other.
enum TableText {
    static func lines(_ table: Table, columns: Int, style: Style) -> [String] {
        let widths = table.columns.indices.map { index in
            ([table.columns] + table.rows).map { TerminalText.width($0[index]) }.max() ?? 0
        }
        if widths.reduce(0, { $0 + $1 + 2 }) - 2 <= columns {
            return ([table.columns] + table.rows).enumerated().map { number, row in
                let line = zip(row, widths).enumerated().map { index, cell in
                    pad(cell.0, cell.1, toTheRight: index > 0 && isNumeric(index, table))
                }
                let text = line.joined(separator: "  ").trimmingEnd()
                return number == 0 ? style.dim(text) : text
            }
        }
        return table.rows.flatMap { row in
            let rest = zip(table.columns, row).dropFirst().filter { !$0.1.isEmpty }.map {
                "\($0.0): \($0.1)".replacing(" ", with: "\u{A0}")
            }
            return TerminalText.wrapped(row[0], columns: columns).map { style.bold($0) }
                + TerminalText.wrapped(rest.joined(separator: "; "), columns: columns - 2).map { "  " + $0 }
        }
    }

    /// Returns whether the column holds numbers, with their units, which are aligned to the right.
    private static func isNumeric(_ column: Int, _ table: Table) -> Bool {
        table.rows.allSatisfy { row in
            row[column].isEmpty || row[column].first?.isNumber == true || row[column].first == "-"
        }
    }

    private static func pad(_ text: String, _ width: Int, toTheRight: Bool) -> String {
        let space = String(repeating: " ", count: max(0, width - TerminalText.width(text)))
        return toTheRight ? space + text : text + space
    }
}

extension String {
    func trimmingEnd() -> String {
        String(self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)])
    }
}
